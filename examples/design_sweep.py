"""How heavy a counterweight on a four-bar's crank is best: its mass is an input of one compiled model.
Prints: peak torques [N m], the best mass [kg]. Writes: design_sweep.png."""

import matplotlib.pyplot as plt
import numpy as np

import kempe as kp

ARM, SPEED = 0.2, 2 * np.pi  # m, rad/s

m = kp.Mechanism("balanced four-bar", gravity=(0, -9.81, 0))
crank = m.rod("crank", length=0.3, mass=1.5)
coupler = m.rod("coupler", length=1.0, mass=5.0)
rocker = m.rod("rocker", length=0.6, mass=3.0)
crank.point_mass("weight", 1.0, at=(-ARM, 0, 0))
m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
m.revolute("B", crank.end, coupler.start)
m.revolute("C", coupler.end, rocker.end)
m.revolute("D", m.ground.at(1, 0), rocker.start)
model = m.compile(parameters=["crank.weight.mass"])

# The motion does not depend on masses: follow it once, and ask for the torques of all designs in one call.
turn = kp.motions.quintic({"A": (0, 2 * np.pi)}, 2 * np.pi / SPEED, rates={"A": (SPEED, SPEED)})
run = model.motion(turn, start=model.assemble({"A": 0.0}, near={"D": 90 * kp.deg}), output=0.005)
masses = np.linspace(0.0, 12.0, 61)
torque = np.array([model.inverse_dynamics(run.q, run.v, run.a, p=[mass])[:, 0] for mass in masses])
peaks = abs(torque).max(axis=1)
best = peaks.argmin()
print(f"peak torque without a counterweight: {peaks[0]:.2f} N m")
print(f"least peak torque: {peaks[best]:.2f} N m, with {masses[best]:.1f} kg at {ARM} m")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(masses, peaks)
left.plot(masses[best], peaks[best], "o")
left.set(xlabel="counterweight [kg]", ylabel="peak torque [N m]")
for k in (0, best):
    right.plot(run["A"] / kp.deg, torque[k], label=f"{masses[k]:.1f} kg")
right.set(xlabel="crank [deg]", ylabel="torque [N m]")
right.legend()
figure.savefig("design_sweep.png")
