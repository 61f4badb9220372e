"""A crank-rocker linkage falls freely from rest, and a page plays it in a browser.
Prints: outcome, speeds, errors of energy and loops. Writes: four_bar.png, four_bar.html."""

import kempe as kp

m = kp.Mechanism("four-bar", gravity=(0, -9.81, 0))
crank = m.rod("crank", length=0.3, mass=1.5)
coupler = m.rod("coupler", length=1.0, mass=5.0)
rocker = m.rod("rocker", length=0.6, mass=3.0)
m.revolute("A", m.ground.at(0, 0), crank.start)
m.revolute("B", crank.end, coupler.start)
m.revolute("C", coupler.end, rocker.end)  # closes the loop
m.revolute("D", m.ground.at(1, 0), rocker.start)
model = m.compile()

start = model.assemble({"A": 90 * kp.deg}, near={"D": 70 * kp.deg})  # which of two ways to close
run = model.simulate(start, duration=3.0)
pen = coupler.at(0.5, 0.2)

print(run.outcome)
print(f"crank turns at {abs(run.rate('A')).max():.3f} rad/s at most, from {run['A'][0] / kp.deg:.1f} degrees")
print(f"the pen moves at {(run.velocity(pen) ** 2).sum(axis=1).max() ** 0.5:.3f} m/s at most")
print(f"energy is off by {abs(run.energy - run.energy[0]).max():.1e} J, loops by {run.closure.max():.1e} of the size")
run.plot("overview", "four_bar.png", degrees=True)
run.animate("four_bar.html", points=[pen])
