"""An excavator draws its bucket through soil; its cylinders follow a motion by PD laws with gravity taken off.
Prints: how far the tooth is off [mm], forces [kN], work [kJ]. Writes: excavator.png, excavator_forces.png."""

import numpy as np

import kempe as kp
from kempe.gallery.excavator import excavator

SOIL = 15e3  # N, against the tooth's way to the machine
CYLINDERS = ("boom cylinder", "stick cylinder", "bucket cylinder")
HINGES = ("boom hinge", "stick hinge", "bucket hinge")

m = excavator()  # m.save("excavator.yaml") shows how it is built
bucket = next(body for body in m.bodies if body.name == "bucket")
m.wrench("soil", bucket.at(1.3, -0.05), force=(SOIL, 0, 0))
model = m.compile()

# Poses by the angles of hinges, and the lengths that cylinders have there.
angles = np.deg2rad([(5, -60, -20), (2, -80, -40), (2, -100, -60)])
poses = [model.assemble(dict(zip(HINGES, row, strict=True)), branch={"link pin": -1}) for row in angles]
lengths = {name: [pose[name] for pose in poses] for name in CYLINDERS}
motion = kp.motions.spline(lengths, times=[0.0, 2.0, 4.0], ends="rest")
law = kp.pd(motion, stiffness=2e7, damping=1e6, gravity=True)  # N/m, N s/m; it does not know of the soil
run = model.simulate(poses[0], duration=4.0, torque=law)

wanted = model.motion(motion, start=poses[0])
tooth = run.point("bucket.tooth")
off = np.linalg.norm(tooth - wanted.point("bucket.tooth"), axis=1)
work = np.trapezoid(run.power.actuators, run.t)
into_soil = SOIL * (tooth[0, 0] - tooth[-1, 0])
print(f"the tooth is off by {1e3 * off.max():.1f} mm at most, {1e3 * off[-1]:.1f} mm in the end")
for name in CYLINDERS:
    print(f"{name}: {run.torque(name).min() / 1e3:.1f} to {run.torque(name).max() / 1e3:.1f} kN")
print(f"cylinders do {work / 1e3:.2f} kJ of work, {into_soil / 1e3:.2f} kJ go into the soil; the rest is gravity's")
run.strip("excavator.png", count=5, points=["bucket.tooth"])
run.plot("torques", "excavator_forces.png", joints=list(CYLINDERS))
