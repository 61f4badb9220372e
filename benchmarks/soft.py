"""Peers in MuJoCo: closed mechanisms of hinges and sliders, on the same spanning tree, loops held stiffly."""

from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

from kempe.dynamics.tree import Tree, build
from kempe.model.model import Model
from kempe.spatial.moves import relative_pose

JOINTS = {"revolute": "hinge", "prismatic": "slide"}
STIFF = "0.9999 0.9999 0.001"  # solimp: a ten-thousandth of what would open a loop is let through


class SoftPeer:
    """A model of Kempe in MuJoCo; every loop is closed by a point that two bodies share, as in `peers`.

    MuJoCo's equality constraints are soft, and take no account of how J changes: accelerations agree at rest, to what
    stiffness leaves.
    """

    def __init__(self, model: Model):
        tree = build(model.topology)
        self.model = mujoco.MjModel.from_xml_string(_document(model, tree))
        self.data = mujoco.MjData(self.model)
        numbers = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, link.name) for link in tree.links]
        self.order = self.model.jnt_dofadr[numbers]  # one freedom a joint: coordinates lie as velocities do
        self.signs = np.array([-1.0 if link.reversed else 1.0 for link in tree.links])

    def solve(self) -> None:
        """Everything that MuJoCo works out of a state, accelerations at the end."""
        mujoco.mj_forward(self.model, self.data)

    def set(self, q: np.ndarray, v: np.ndarray) -> None:
        """The state to solve for, in Kempe's order."""
        self.data.qpos[self.order], self.data.qvel[self.order] = q * self.signs, v * self.signs

    def accelerations(self) -> np.ndarray:
        """In Kempe's order, once solved."""
        return self.data.qacc[self.order] * self.signs


def _document(model: Model, tree: Tree) -> str:
    """The mechanism as MuJoCo's XML; thin rods get a little inertia, about axes that do not turn."""
    sites: dict[int, list[str]] = {}
    closures = []
    for number, loop in enumerate(model.topology.loops):
        for end, marker in zip("ab", (loop.joint.a, loop.joint.b), strict=True):
            place = tree.place(marker)
            position = _numbers(relative_pose(place.moves)[1])
            sites.setdefault(place.link, []).append(f'<site name="{end}{number}" pos="{position}"/>')
        closures.append(f'<connect site1="a{number}" site2="b{number}" solimp="{STIFF}"/>')

    def body(k: int) -> str:
        link = tree.links[k]
        rotation, position = relative_pose(link.placement)
        c, s = np.cos(float(link.offset)), np.sin(float(link.offset))
        turned = np.array(rotation, dtype=float) @ [[c, -s, 0], [s, c, 0], [0, 0, 1]]
        place = f'pos="{_numbers(position)}" xyaxes="{_numbers(turned[:, :2].T.ravel())}"'
        mass = float(link.inertia.mass)
        com = np.array(link.inertia.moment, dtype=float) / mass
        tensor = np.array(link.inertia.tensor, dtype=float) - mass * (com @ com * np.eye(3) - np.outer(com, com))
        entries = _numbers(tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        joint = f"<joint name={quoteattr(link.name)} type={quoteattr(JOINTS[link.kind.name])}/>"
        inertial = f'<inertial pos="{_numbers(com)}" mass="{mass:.17g}" fullinertia="{entries}"/>'
        return f"<body {place}>{joint}{inertial}{inside(k)}</body>"

    def inside(k: int) -> str:
        children = (body(child) for child, parent in enumerate(tree.parents) if parent == k)
        return "".join((*sites.get(k, ()), *children))

    return (
        '<mujoco><compiler angle="radian" boundinertia="1e-9" balanceinertia="true"/>'
        f'<option gravity="{_numbers(tree.gravity)}"><flag contact="disable"/></option>'
        f"<worldbody>{inside(-1)}</worldbody><equality>{''.join(closures)}</equality></mujoco>"
    )


def _numbers(values) -> str:
    return " ".join(f"{float(x):.17g}" for x in values)
