"""A Stewart platform moves and tilts: lengths of its legs by inverse kinematics, forces by inverse dynamics.
Prints: lengths [mm], forces [N], power [W]. Writes: stewart.png, stewart_forces.png."""

import numpy as np

import kempe as kp

m = kp.Mechanism("stewart")
platform = m.cylinder("platform", length=0.05, radius=0.32, mass=20.0)
for k in range(6):
    side = -1 if k % 2 else 1
    low, high = (np.deg2rad(120 * (k // 2) + side * spread) for spread in (12.0, 48.0))
    foot = m.ground.at(0.6 * np.cos(low), 0.6 * np.sin(low), 0)
    head = platform.at(0.3 * np.cos(high), 0.3 * np.sin(high), -0.025)
    m.strut(f"leg{k + 1}", foot, head, stroke=(0.65, 1.2), mass=(3.0, 1.5))  # a universal joint, a slider, a ball
model = m.compile()
legs = [f"leg{k}" for k in range(1, 7)]

home = {"platform.x": 0.0, "platform.y": 0.0, "platform.z": 0.8}
home |= {"platform.roll": 0.0, "platform.pitch": 0.0, "platform.yaw": 0.0}
there = {"platform.x": 0.15, "platform.z": 0.9, "platform.pitch": 15 * kp.deg, "platform.yaw": 10 * kp.deg}
go = kp.motions.cycloidal({place: (value, there.get(place, value)) for place, value in home.items()}, duration=1.0)
back = kp.motions.cycloidal({place: (there.get(place, value), value) for place, value in home.items()}, duration=1.0)
run = model.inverse_dynamics(go.then(back), start=model.assemble(home))

lengths = np.array([run[leg] for leg in legs])
forces = np.array([run.torque(leg) for leg in legs])
print("leg   at rest [mm]   from [mm]   to [mm]   force at rest [N]   from [N]   to [N]")
for leg, length, force in zip(legs, lengths, forces, strict=True):
    span = f"{length[0] * 1e3:12.2f} {length.min() * 1e3:11.2f} {length.max() * 1e3:9.2f}"
    print(f"{leg} {span} {force[0]:19.2f} {force.min():10.2f} {force.max():8.2f}")
print(f"all legs together give {run.power.actuators.max():.1f} W at most")
run[:1.0].strip("stewart.png", count=3)
run.plot("torques", "stewart_forces.png")
