"""A file of MuJoCo whose <connect> closes a loop: read, checked, and let swing.
Prints: what was read, freedom, period of the swing [s]. Writes: swing.xml, swing.yaml, swing.png."""

from pathlib import Path

import numpy as np

import kempe as kp

Path("swing.xml").write_text("""
<mujoco model="swing">
  <default> <joint axis="0 1 0"/> <geom type="capsule" size=".01"/> </default>
  <worldbody>
    <body name="left rope"> <joint name="A"/> <geom fromto="0 0 0 0 0 -1" mass=".3"/>
      <body name="seat" pos="0 0 -1"> <joint name="B"/> <geom fromto="0 0 0 .5 0 0" mass="4"/> </body>
    </body>
    <body name="right rope" pos=".5 0 0"> <joint name="D"/> <geom fromto="0 0 0 0 0 -1" mass=".3"/> </body>
  </worldbody>
  <equality> <connect name="C" body1="seat" body2="right rope" anchor=".5 0 0"/> </equality>
</mujoco>
""")
m = kp.load("swing.xml")
print(*map(str, m.joints), sep="\n")
print(*m.notes, sep="\n")  # what the file says and Kempe does not use
print(m.mobility())
m.save("swing.yaml")  # the same in Kempe's own words

model = m.compile()
print(model.why)
start = model.assemble({"A": 10 * kp.deg}, near={"D": 10 * kp.deg, "B": -10 * kp.deg})
down = kp.Event("down", lambda t, q, v: q[model.q_names.index("A")], direction=-1, action="record")
run = model.simulate(start, duration=10.0, events=down)
times = [event.t for event in run.occurrences]
period = np.diff(times).mean()
print(f"it swings with a period of {period:.5f} s, loops are open by {run.closure.max():.1e} of the size at most")
run.plot("positions", "swing.png", joints=["A", "B"], degrees=True)
