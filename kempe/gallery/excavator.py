"""Excavator: after Figure 1 of paper 2, with boom, stick and bucket, three cylinders, four loops, three freedoms."""

import numpy as np

from kempe.control import motions
from kempe.gallery.driven import driven
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

PIN = (0.0, 0.0, 1.0)
LENGTHS = ("boom cylinder", "stick cylinder", "bucket cylinder")


def excavator() -> Mechanism:
    """The text gives no sizes; these are typical of a 20 t machine."""
    m = Mechanism("excavator", gravity=(0, -9.81, 0))
    boom = m.rod("boom", length=5.6, mass=1500.0, radius=0.18)
    stick = m.rod("stick", length=2.9, mass=800.0, radius=0.14)
    rocker, link = (
        m.rod("rocker", length=0.55, mass=60.0, radius=0.05),
        m.rod("link", length=0.6, mass=80.0, radius=0.05),
    )
    bucket = m.plate("bucket", [(0, 0), (-0.12, 0.42), (0.5, 0.5), (1.25, 0.1), (1.3, -0.05), (0.6, -0.3)], 900.0, 0.9)
    bucket.at(1.3, -0.05, 0.0, name="tooth")
    m.revolute("boom hinge", m.ground.at(0, 0), boom.start)
    m.revolute("stick hinge", boom.end, stick.start)
    m.revolute("bucket hinge", stick.end, bucket.at(0, 0))
    m.revolute("rocker hinge", stick.at(2.45, 0.05), rocker.start)
    m.revolute("link pin", rocker.end, link.start)
    m.revolute("bucket pin", link.end, bucket.at(-0.12, 0.42))
    m.strut("boom cylinder", m.ground.at(0.35, -0.45), boom.at(2.5, 0.55), (2.25, 3.0), (220.0, 120.0), axis=PIN)
    m.strut("stick cylinder", boom.at(2.7, 0.75), stick.at(-0.75, 0.15), (2.35, 3.7), (200.0, 110.0), axis=PIN)
    m.strut("bucket cylinder", stick.at(0.25, 0.55), rocker.end, (1.7, 2.75), (140.0, 80.0), axis=PIN)
    return m


def dig(model: Model, duration: float, **options) -> Trajectory:
    """Reaches out, draws the bucket in along the ground, and lifts it."""
    poses = np.deg2rad([(20, -40, 10), (5, -60, -20), (2, -100, -60), (25, -125, -110), (45, -120, -120)])
    hinges, near, lengths = ("boom hinge", "stick hinge", "bucket hinge"), None, []
    for pose in poses:
        near = model.assemble(dict(zip(hinges, pose.tolist(), strict=True)), near=near, branch={"link pin": -1})
        lengths.append([near[name] for name in LENGTHS])
    times = [duration * k / 4 for k in range(5)]
    points: dict[str, list[float]] = dict(zip(LENGTHS, map(list, zip(*lengths, strict=True)), strict=True))
    start = model.assemble(dict(zip(hinges, poses[0].tolist(), strict=True)), branch={"link pin": -1})
    return driven(model, motions.spline(points, times, ends="rest"), start, **options)
