"""MJCF files nobody here wrote, and random ones: mass, coordinates, inertia matrix and forces are those of MuJoCo."""

from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

from tests.formats.mujoco_side import Beside

SHIPPED = sorted(Path(gymnasium.__file__).parent.glob("envs/mujoco/assets/*.xml"))
OWN = Path(mujoco.__file__).parent / "testdata" / "model.xml"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file where it stands."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_files_of_gymnasium_have_the_dynamics_of_mujoco(path):
    side = Beside(path)
    side.check(1e-9)
    side.check_drawn()
    assert side.mechanism.check(), side.mechanism.check()


def test_the_file_mujoco_brings_along_has_its_dynamics(tmp_path):
    # MuJoCo keeps the corners of meshes in single precision; with numbers that fit into it, both see the same mesh.
    text = OWN.read_text().replace('scale=".05 .05 .05"', 'scale=".0625 .0625 .0625"').replace("1.618", "1.625")
    (tmp_path / "model.xml").write_text(text)
    side = Beside(tmp_path / "model.xml")
    side.check(1e-9)
    assert side.loops == ["weld 1"]
    driven = [joint.name for joint in side.mechanism.joints if any(joint.actuated)]
    assert driven == ["hipz_0", "hipz_1", "hipy_1", "wheel_1", "hipz_2", "hipy_2", "wheel_2"]
    for said in ("gravcomp", "sensor", "tendon", "density", "keyframe"):
        assert any(said in note and "not used" in note for note in side.mechanism.notes), said


def numbers(rng, count: int, size: float = 1.0) -> str:
    return " ".join(map(repr, (rng.normal(size=count) * size).tolist()))


def orientation(rng) -> str:
    kind = rng.choice(["quat", "axisangle", "euler", "xyaxes", "zaxis"])
    return f'{kind}="{numbers(rng, {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[kind])}"'


def random_joint(rng, kinds=("hinge", "slide")) -> str:
    kind = rng.choice(kinds)
    said = f'<joint type="{kind}" pos="{numbers(rng, 3, 0.2)}" axis="{numbers(rng, 3)}" armature="{rng.random()}" '
    said += f'damping="{rng.random()}" '
    if kind != "ball":
        said += f'ref="{rng.normal()}" springref="{rng.normal()}" stiffness="{rng.random()}" '
    return said + (f'class="{rng.choice(["main", "one", "two"])}"' if rng.random() < 0.5 else "") + "/>"


def random_geom(rng) -> str:
    kind = rng.choice(["sphere", "capsule", "ellipsoid", "cylinder", "box"])
    size = " ".join(map(repr, rng.uniform(0.05, 0.3, 3).tolist()))
    weight = f'mass="{rng.uniform(0.1, 2)}"' if rng.random() < 0.5 else f'density="{rng.uniform(100, 2000)}"'
    if kind != "sphere" and rng.random() < 0.3:
        return f'<geom type="{kind}" fromto="{numbers(rng, 6)}" size="{size.split()[0]}" {weight}/>'
    return f'<geom type="{kind}" size="{size}" pos="{numbers(rng, 3, 0.3)}" {orientation(rng)} {weight}/>'


def random_body(rng, depth: int, budget: list[int]) -> str:
    inside = ""
    if depth == 0 and rng.random() < 0.4:
        inside += "<freejoint/>"
    else:
        inside += "".join(random_joint(rng) for _ in range(rng.integers(0, 3)))
        inside += random_joint(rng, ("hinge", "slide", "ball"))  # MuJoCo has no rotation after a ball
    inside += "".join(random_geom(rng) for _ in range(rng.integers(1, 3)))
    while budget[0] > 0 and rng.random() < 0.7:
        budget[0] -= 1
        inner = random_body(rng, depth + 1, budget)
        inside += f"<frame pos='{numbers(rng, 3)}' {orientation(rng)}>{inner}</frame>" if rng.random() < 0.3 else inner
    named = rng.choice(["", 'childclass="one"', 'childclass="two"'])
    return f'<body pos="{numbers(rng, 3, 0.5)}" {orientation(rng)} {named}>{inside}</body>'


def random_file(seed: int) -> str:
    rng = np.random.default_rng(seed)
    budget = [6]
    bodies = "".join(random_body(rng, 0, budget) for _ in range(2))
    sequence = "".join(rng.choice(list("xyzXYZ"), 3))
    return f"""<mujoco><compiler angle="{rng.choice(["degree", "radian"])}" eulerseq="{sequence}"/>
        <option gravity="{numbers(rng, 3, 5)}"/>
        <default><joint frictionloss="0"/>
          <default class="one"><joint stiffness="2"/><geom density="500"/>
            <default class="two"><joint damping="3" stiffness="5"/></default></default></default>
        <worldbody>{bodies}<body><joint/><geom size=".1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("seed", range(25))
def test_random_files_have_the_dynamics_of_mujoco(seed, tmp_path):
    (tmp_path / "random.xml").write_text(random_file(seed))
    Beside(tmp_path / "random.xml").check(1e-9)
