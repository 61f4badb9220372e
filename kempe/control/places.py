"""Places: the entries of a motion among a model's coordinates, with errors for names that do not fit."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.mechanics.state import entry

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics
    from kempe.topology.tree import TreeJoint

SHORT = 0.5  # quaternions shorter than this pass close to zero; halfway between two of matching signs the length is 0.7


def places(model: "Kinetics", names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The index of every name in q and in v, (k,) each."""
    taken: dict[int, str] = {}
    found = []
    for name in names:
        t, offset = _place(model, name, names)
        k = t.q.start + offset
        if k in taken:
            raise StateError(f"motion: {taken[k]!r} and {name!r} are the same coordinate; keep one")
        taken[k] = name
        found.append((k, t.v.start + offset))
    q, v = np.array(found, dtype=int).reshape(-1, 2).T
    return q, v


def _place(model: "Kinetics", name: str, names: tuple[str, ...]) -> "tuple[TreeJoint, int]":
    """The joint of a name, and the index of the coordinate within it."""
    joints = {t.joint.name: t for t in model.topology.tree}
    if name not in joints and name in model.q_names:
        k = model.q_names.index(name)
        t = next(t for t in joints.values() if t.q.start <= k < t.q.stop)
        _check_rates(t)
        return t, k - t.q.start
    joint, k = (name, None) if name in joints else entry(name)
    if joint not in joints:
        known = list(dict.fromkeys((*joints, *model.q_names)))
        close = get_close_matches(joint, known)
        listed = ", ".join([*close, *(other for other in known if other not in close)])
        raise StateError(f"motion: {model.mechanism.name!r} has no joint {joint!r}; it has {listed}")
    t = joints[joint]
    _check_rates(t)
    coordinates = t.joint.type.q_names
    given = 1 if k is None else sum(entry(other)[0] == joint for other in names)
    if given != len(coordinates):
        listed = f" ({', '.join(coordinates)})" if len(coordinates) > 1 else ""
        raise StateError(
            f"motion: {t.joint.type.name} joint {joint!r} takes {len(coordinates)} numbers{listed}, not {given}"
        )
    return t, k or 0


def _check_rates(t: "TreeJoint") -> None:
    kind = t.joint.type
    if kind.q_names != kind.v_names:
        raise StateError(
            f"motion: the velocities of {kind.name} joint {t.joint.name!r} are not the rates of its coordinates; "
            "replace it by hinges and sliders"
        )


def check_turning(name: str, x: np.ndarray) -> None:
    """Refuses quaternions (n, 4..) that pass close to zero."""
    if (np.linalg.norm(x[:, :4], axis=1) < SHORT).any():
        raise StateError(
            f"motion: the quaternion of joint {name!r} comes near zero between two values, which have opposite "
            "signs; give -w, -x, -y, -z for one of them, which is the same rotation"
        )
