"""Random graphs of links and joints, written as SDFormat in many ways, and built natively from the same numbers."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import kempe as kp

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "screw": "helical",
    "ball": "spherical",
    "universal": "universal",
    "fixed": "fixed",
}
NESTED = ("l3", "l4", "l5")  # links that stand in a model of their own, where there is one


@dataclass
class Graph:
    """Links by name, with 4 x 4 poses in the world; joints with pose, two axes in the world, and numbers."""

    poses: dict[str, np.ndarray]
    masses: dict[str, tuple]
    joints: list[tuple] = field(default_factory=list)


def said(*numbers: float) -> str:
    """With all digits."""
    return " ".join(repr(float(x)) for x in numbers)


def random_pose(rng: np.random.Generator) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = Rotation.random(random_state=int(rng.integers(1 << 31))).as_matrix(), rng.normal(size=3)
    return out


def random_graph(rng: np.random.Generator) -> Graph:
    """Five links on the ground in a random tree, and two joints more that close loops."""
    names = [f"l{k}" for k in range(1, 6)]
    graph = Graph({name: random_pose(rng) for name in names}, {})
    for name in names:
        moments = rng.uniform(1, 1.5, 3)
        graph.masses[name] = (rng.uniform(0.5, 2), random_pose(rng), np.diag(moments) + 0.1 * np.ones((3, 3)))
    ends = [(rng.choice(["world", *names[:k]]), name) for k, name in enumerate(names)]
    ends += [tuple(rng.choice(names, 2, replace=False)) for _ in range(2)]
    for k, (a, b) in enumerate(ends):
        kind = str(rng.choice(list(KINDS))) if k < 5 else str(rng.choice(["ball", "revolute"]))
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        second = np.cross(axis, rng.normal(size=3))
        numbers = rng.uniform(0.1, 1, 6)
        graph.joints.append((f"j{k}", kind, str(a), str(b), random_pose(rng), axis, second, numbers))
    return graph


def native(graph: Graph, called) -> kp.Mechanism:
    """The mechanism itself; called: what a link is called in it."""
    m = kp.Mechanism("graph")
    bodies = {"world": m.ground}
    for name, (mass, at, tensor) in graph.masses.items():
        bodies[name] = m.body(called(name), mass, at[:3, 3], at[:3, :3] @ tensor @ at[:3, :3].T)
    poses = {"world": np.eye(4), **graph.poses}
    for name, kind, a, b, pose, axis, second, x in graph.joints:
        frames = [np.linalg.inv(poses[end]) @ pose for end in (a, b)]
        ends = [bodies[end].at(*f[:3, 3], rotation=f[:3, :3]) for end, f in zip((a, b), frames, strict=True)]
        along = pose[:3, :3].T @ axis
        axes = {"ball": (), "fixed": (), "universal": (along, pose[:3, :3].T @ second / np.linalg.norm(second))}
        options = {} if kind in ("ball", "fixed") else {"damping": x[0], "stiffness": x[1], "rest": x[2]}
        if kind in ("revolute", "prismatic", "screw"):
            options["limits"] = (-x[3], x[4])
        if kind == "universal":
            options = {key: (value, 0.0) for key, value in options.items()} | {"limits": [(-x[3], x[4]), None]}
        if kind == "screw":
            options["pitch"] = x[5]
        m.joint(KINDS[kind], name, *ends, axes.get(kind, (along,)), **options)
    return m


class Writer:
    """Writes a graph; poses are given in frames that are there already, drawn at random, unless they are plain."""

    def __init__(self, graph: Graph, rng: np.random.Generator, plain: bool):
        self.graph, self.rng, self.plain = graph, rng, plain

    def pose(self, pose: np.ndarray, known: dict[str, np.ndarray], default: str) -> str:
        """A <pose> in one of the frames that are known."""
        base = default if self.plain else str(self.rng.choice(list(known)))
        local = np.linalg.inv(known[base]) @ pose
        turn, options = Rotation.from_matrix(local[:3, :3]), "" if base == default else f' relative_to="{base}"'
        how = 0 if self.plain else self.rng.integers(3)
        angles = turn.as_quat() if how == 2 else turn.as_euler("xyz", degrees=bool(how == 1))
        options += ["", ' degrees="true"', ' rotation_format="quat_xyzw"'][how]
        return f"<pose{options}>{said(*local[:3, 3], *angles)}</pose>"

    def link(self, name: str, known: dict[str, np.ndarray]) -> str:
        """A link; it is known from then on, and so is a frame on it."""
        mass, at, tensor = self.graph.masses[name]
        pose = self.pose(self.graph.poses[name], known, "__model__")
        known[name] = self.graph.poses[name]
        pairs = [(i, j, f"i{'xyz'[i]}{'xyz'[j]}") for i in range(3) for j in range(i, 3)]
        entries = "".join(f"<{tag}>{said(tensor[i, j])}</{tag}>" for i, j, tag in pairs)
        com = Writer(self.graph, self.rng, True).pose(at, {"": np.eye(4)}, "")
        text = f"""<link name="{name}">{pose}
        <inertial>{com}<mass>{said(mass)}</mass><inertia>{entries}</inertia></inertial></link>"""
        if self.plain:
            return text
        on = random_pose(self.rng)
        text += f'<frame name="f{name}" attached_to="{name}">{self.pose(on, known, name)}</frame>'
        known[f"f{name}"] = on
        return text

    def joint(self, joint: tuple, known: dict[str, np.ndarray], called) -> str:
        """A joint between links, or between frames on them."""
        name, kind, a, b, pose, axis, second, x = joint
        a, b = (called(end) if end != "world" else end for end in (a, b))
        if not self.plain and self.rng.random() < 0.5:
            b = "::".join([*b.split("::")[:-1], f"f{b.split('::')[-1]}"])
        text = f'<joint name="{name}" type="{kind}"><parent>{a}</parent><child>{b}</child>'
        text += self.pose(pose, known, b)
        known[name] = pose
        if kind in ("ball", "fixed"):
            return f"{text}</joint>"
        for tag, along in (("axis", axis), ("axis2", second))[: 2 if kind == "universal" else 1]:
            base = name if self.plain else str(self.rng.choice(list(known)))
            option = "" if base == name else f' expressed_in="{base}"'
            text += f"<{tag}><xyz{option}>{said(*(3 * known[base][:3, :3].T @ along))}</xyz>"
            if tag == "axis":
                text += f"""<limit><lower>{said(-x[3])}</lower><upper>{said(x[4])}</upper></limit><dynamics>
                <damping>{said(x[0])}</damping><spring_stiffness>{said(x[1])}</spring_stiffness>
                <spring_reference>{said(x[2])}</spring_reference></dynamics>"""
            text += f"</{tag}>"
        if kind == "screw":
            old, new = said(-1 / x[5]), said(2 * np.pi * x[5])
            text += (
                f"<thread_pitch>{old}</thread_pitch>"
                if self.plain
                else f"<screw_thread_pitch>{new}</screw_thread_pitch>"
            )
        return f"{text}</joint>"


def written(graph: Graph, rng: np.random.Generator, way: str, folder: Path) -> tuple[Path, object]:
    """A file, and what a link is called by joints in it. way: plain, relative, nested, included or merged."""
    apart = way in ("nested", "included", "merged")
    writer = Writer(graph, rng, way == "plain")
    pose = random_pose(rng)
    known, parts = {"__model__": pose}, [writer.pose(pose, {"": np.eye(4)}, "")]
    parts += [writer.link(name, known) for name in graph.poses if not (apart and name in NESTED)]
    if apart:
        own = random_pose(rng)
        inside = {"__model__": own}
        content = "".join(writer.link(name, inside) for name in NESTED)
        there = writer.pose(inside["fl4"], known, "__model__")
        if way == "nested":
            parts.append(f'<model name="sub" placement_frame="fl4">{there}{content}</model>')
        else:
            text = f'<sdf version="1.10"><model name="other"><pose>1 2 3 0 0 0</pose>{content}</model></sdf>'
            (folder / "part").mkdir(exist_ok=True)
            (folder / "part" / "model.sdf").write_text(text)
            merge = ' merge="true"' if way == "merged" else ""
            parts.append(f"""<include{merge}><uri>model://part</uri><name>sub</name>{there}
            <placement_frame>fl4</placement_frame></include>""")
        inside.pop("__model__")
        known |= {n if way == "merged" else f"sub::{n}": x for n, x in inside.items()}

    def called(name: str) -> str:
        return f"sub::{name}" if apart and way != "merged" and name in NESTED else name

    parts += [writer.joint(joint, known, called) for joint in graph.joints]
    path = folder / f"{way}.sdf"
    version = "1.6" if way == "plain" else "1.10"
    path.write_text(f'<sdf version="{version}"><model name="graph">{" ".join(parts)}</model></sdf>')
    return path, called
