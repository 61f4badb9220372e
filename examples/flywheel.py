"""What torque turns a compressor's crank at constant speed, and how evenly flywheels let it run by a constant torque.
Prints: torque [N m], energy to store [J], unevenness of speed [%]. Writes: flywheel.png."""

import matplotlib.pyplot as plt
import numpy as np

import kempe as kp

SPEED = 600 * kp.deg * 360 / 60  # rad/s
RADIUS = 0.12  # m, of the flywheel

m = kp.Mechanism("compressor", gravity=(0, -9.81, 0))
crank, rod = m.rod("crank", length=0.04, mass=0.8), m.rod("rod", length=0.15, mass=0.6)
piston = m.box("piston", size=(0.06, 0.08, 0.08), mass=0.5)
crank.add("flywheel", kp.Cylinder(length=0.02, radius=RADIUS, mass=4.0))
m.revolute("motor", m.ground.origin, crank.start, actuated=True)
m.revolute("big end", crank.end, rod.start)
m.revolute("small end", rod.end, piston.origin)
m.prismatic("cylinder", m.ground.origin, piston.origin, axis=(1, 0, 0), damping=40.0, stiffness=2000.0, rest=0.11)
model = m.compile(parameters=["crank.flywheel.mass"])  # compiled once, for all flywheels

turn = kp.motions.quintic({"motor": (0, 2 * np.pi)}, 2 * np.pi / SPEED, rates={"motor": (SPEED, SPEED)})
start = model.assemble({"motor": 0.0}, near={"cylinder": 0.19}, rates={"motor": SPEED})
path = model.motion(turn, start=start, output=1e-4)
torque = model.inverse_dynamics(path.q, path.v, path.a, p=[4.0])[:, 0]  # no flywheel is felt at constant speed
mean = torque[:-1].mean()
swing = np.ptp(np.cumsum((torque - mean)[:-1]) * SPEED * 1e-4)  # J, what the shaft has to take and give back
print(f"torque at constant speed: {torque.min():.2f} to {torque.max():.2f} N m, {mean:.3f} N m on average")
print(f"energy to store: {swing:.3f} J")

figure, (above, below) = plt.subplots(2, 1, layout="constrained")
above.plot(path["motor"] / kp.deg, torque, label="at constant speed")
above.axhline(mean, color="0.5", label="on average")
above.set(xlabel="crank [deg]", ylabel="torque [N m]")
for mass in (4.0, 12.0):
    run = model.simulate(start, duration=1.0, torque=mean, output=5e-4, p=[mass])
    rate = run.rate("motor")[run.t > 0.8]
    uneven, estimate = np.ptp(rate) / rate.mean(), swing / (0.5 * mass * RADIUS**2 * SPEED**2)
    print(f"flywheel of {mass:g} kg: speed uneven by {100 * uneven:.2f} %, by rule of thumb {100 * estimate:.2f} %")
    below.plot(run.t, run.rate("motor") * 60 / (2 * np.pi), label=f"flywheel of {mass:g} kg")
below.set(xlabel="time [s]", ylabel="speed [rpm]", ylim=(575, 640))
above.legend()
below.legend(loc="lower center", ncols=2)
figure.savefig("flywheel.png")
