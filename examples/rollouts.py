"""A thousand four-bars begin at random speeds and are braked by their hinges: after how many turns do they rest?
Prints: time taken [s], turns, energy left [J]. Writes: rollouts.png."""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import kempe as kp

m = kp.Mechanism("four-bar", gravity=(0, -9.81, 0))
crank = m.rod("crank", length=0.3, mass=1.5)
coupler = m.rod("coupler", length=1.0, mass=5.0)
rocker = m.rod("rocker", length=0.6, mass=3.0)
m.revolute("A", m.ground.at(0, 0), crank.start, damping=0.15)
m.revolute("B", crank.end, coupler.start)
m.revolute("C", coupler.end, rocker.end)
m.revolute("D", m.ground.at(1, 0), rocker.start, damping=0.15)
model = m.compile()

rng = np.random.default_rng(1)
start = model.assemble({"A": 0.0}, near={"D": 90 * kp.deg}, rates={"A": 1.0})
speeds = rng.normal(12.0, 2.0, 1000)  # rad/s
starts = kp.State(model, np.tile(start.q, (1000, 1)), speeds[:, None] * start.v)
began = perf_counter()
run = model.batch().rollout(starts, dt=2e-3, steps=6000, output=100, progress=False)
seconds = perf_counter() - began

turns = (run["A"][:, -1] - run["A"][:, 0]) / (2 * np.pi)
left = run.energy[:, -1] - run.energy[:, -1].min()
print(f"{run['A'].shape[0]} mechanisms for {run.t[-1]:g} s in {seconds:.2f} s, compiling included")
print(f"all well: {run.healthy.all()}; loops open by {run.gap.max():.0e} of the size at most")
print(f"turns: {turns.min():.2f} to {turns.max():.2f}, {turns.mean():.2f} on average")
print(f"energy left above the lowest: {left.max():.2g} J of {run.energy[:, 0].max() - run.energy[:, -1].min():.0f} J")

figure, (above, below) = plt.subplots(2, 1, sharex=True, layout="constrained")
above.hist(turns, bins=80)
above.set(ylabel="mechanisms [of 1000]")
below.plot(turns, speeds, ".")
below.set(xlabel="turns of the crank", ylabel="speed at first [rad/s]")
figure.savefig("rollouts.png")
