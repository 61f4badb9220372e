"""Where a five-bar can put its tip, where its two motors lose control, and what is left that is fit for use.
Prints: areas [m^2], number of singular curves. Writes: workspace.png, workspace_usable.png."""

import kempe as kp

OUTSIDE = {"left": (-175 * kp.deg, -5 * kp.deg), "right": (5 * kp.deg, 175 * kp.deg)}  # so that elbows stay outside

m = kp.Mechanism("five-bar", gravity=(0, -9.81, 0))
tips = []
for side, foot in (("left", -0.2), ("right", 0.2)):
    upper, lower = m.rod(f"{side} upper", length=0.4, mass=0.8), m.rod(f"{side} lower", length=0.6, mass=0.6)
    m.revolute(side, m.ground.at(foot, 0), upper.start, actuated=True)
    m.revolute(f"{side} elbow", upper.end, lower.start, limits=OUTSIDE[side])
    tips.append(lower.end)
m.revolute("tip", *tips)
model = m.compile()

start = model.assemble({"left lower.end.x": 0.0, "left lower.end.y": 0.6}, branch={"left elbow": -1, "right elbow": 1})
print(model.singularity(start.q, output=tips[0]))

whole = model.workspace(tips[0], start, step=0.15)
usable = model.workspace(tips[0], start, step=0.15, mode="start")  # without passing a pose where control is lost
print(f"the tip reaches {whole.area:.3f} m^2, {usable.area:.3f} m^2 of it without losing control on the way")
print(f"{len(whole.parallel_curves)} curves where control is lost, {len(whole.serial_curves)} where a direction is")
worst = min(usable.parallel)
print(f"measure of control: {worst:.3f} at worst, {max(usable.parallel):.3f} at best")
whole.plot("workspace.png")
usable.plot("workspace_usable.png")
