// The page: buttons, keys, the clock, and a redraw whenever something has changed.

const byId = id => document.getElementById(id);

function app() {
  const data = JSON.parse(byId("data").textContent), canvas = byId("stage"), kempe = window.kempe;
  const wish = new URLSearchParams(location.hash.slice(1));
  const root = document.documentElement, darkScheme = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (darkScheme.matches ? "dark" : "light");
  if (wish.get("theme")) root.dataset.theme = wish.get("theme");
  root.classList.toggle("framed", window.parent !== window);
  const gl = renderer(canvas);
  if (!gl) { root.classList.add("blind"); }
  const world = stage(data), { times } = world, start = times[0], end = times[times.length - 1], look = data.look;
  const still = !(end > start);
  root.classList.toggle("still", still);
  const show = { traces: true, arrows: true, joints: true, axes: false, ratio: 1, trace: [], off: new Set() };
  let time = start, playing = false, speed = 1, dirty = true, before = 0, hovered = null, pose = null;
  const digits = still ? 2 : Math.max(2, Math.ceil(2 - Math.log10(end - start)));
  const changed = () => { dirty = true; };
  const view = camera(canvas, look, world.cloud, changed), charts = plots(byId("plots"), data.panels, times, t => seek(t));
  if (gl) {
    gl.learn("box", boxMesh());
    gl.learn("cylinder", drumMesh(0.5, 0.5));
    gl.learn("cone", drumMesh(0.5, 0));
    gl.learn("sphere", sphereMesh());
    for (const [name, [corners, faces]] of Object.entries(world.meshes)) {
      gl.learn(name, name.startsWith("hull") ? hullMesh(corners, faces) : plateMesh(corners, faces));
    }
  }
  const reach = norm(sub(look.high, look.low)) || 1;
  const grid = (() => {  // the spacing of the grid: 1, 2 or 5 times a power of ten
    const rough = reach / 16, power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find(x => x * power >= rough * 0.999);
  })();
  byId("grid").textContent = `grid ${Number(grid.toPrecision(1))} m`;

  function floor() {
    const middle = look.low.map((x, i) => (x + look.high[i]) / 2), span = reach * (look.flat ? 1.6 : 2.6);
    const normal = look.flat ? 2 : 1;
    middle[normal] = look.floor;
    const at = [look.right, look.up, look.front].reduce((sum, e, i) => add(sum, scale(e, middle[i])), [0, 0, 0]);
    const north = look.flat ? look.up : scale(look.front, -1);
    return { middle: at, east: scale(look.right, span), north: scale(north, span), pitch: grid };
  }
  function light() {
    const from = look.flat ? [-0.35, 0.55, 1] : [-0.45, 1, 0.55], axes = [look.right, look.up, look.front];
    const sunward = unit(axes.reduce((sum, e, i) => add(sum, scale(e, from[i])), [0, 0, 0]));
    const middle = axes.reduce((sum, e, i) => add(sum, scale(e, (look.low[i] + look.high[i]) / 2)), [0, 0, 0]);
    const half = 0.62 * reach, seen = looking(add(middle, sunward), middle, Math.abs(dot(sunward, look.up)) > 0.95 ? look.front : look.up);
    return { sunward, sun: product(orthographic(half, 1, -4 * half, 4 * half), seen), grain: half / 700 };
  }
  const sky = light(), ground = floor();

  function draw() {
    const night = theme() === "dark";
    show.trace = (night ? ["#ffc857", "#6fd6ff", "#ff8fb1"] : ["#b3541e", "#1d6fa5", "#a02860"]).map(rgb);
    structure();
    pose = world.at(time, show, hovered);
    if (show.follow) view.moveWith(world.off(pose.places));
    const { eye, camera: lens, dots } = view.matrices();
    if (!gl) return;
    gl.draw({
      ...pose, floor: ground, background: rgb(night ? "#14171c" : "#f4f5f7"),
      values: { ...sky, camera: lens, eye, dots, up: look.up, ink: rgb(night ? "#8fa0b5" : "#3c4858"), dark: night ? 1 : 0 },
    });
  }
  /** The joints that are on now: text for the reader, and names of those not drawn. */
  function structure() {
    if (!data.switched.length) return;
    const [, on] = data.structure.reduce((held, span) => span[0] <= time ? span : held, data.structure[0]);
    show.off = new Set(data.switched.filter((_, k) => !on.includes(k)));
    byId("on").textContent = `on: ${on.map(k => data.switched[k]).join(", ") || "nothing"}`;
  }
  function resize() {
    show.ratio = Math.min(2, window.devicePixelRatio || 1);
    const wide = Math.max(1, Math.round(canvas.clientWidth * show.ratio)), tall = Math.max(1, Math.round(canvas.clientHeight * show.ratio));
    if (canvas.width !== wide || canvas.height !== tall) {
      const shaped = canvas.width / canvas.height !== wide / tall;
      [canvas.width, canvas.height] = [wide, tall];
      if (shaped && !view.dragged()) view.fit();
    }
    charts.repaint();
    changed();
  }
  function seek(t, keep = false) {
    time = clamp(t, start, end);
    if (!keep) play(false);
    changed();
  }
  function play(on) {
    if (on && time >= end) time = start;
    playing = on && !still;
    const button = byId("play");
    button.dataset.on = String(playing);
    button.setAttribute("aria-label", playing ? "pause" : "play");
    changed();
  }
  function tick(now) {
    const passed = Math.min(0.1, Math.max(0, (now - before) / 1000));
    before = now;
    if (playing) {
      time += passed * speed;
      if (time > end) {
        if (byId("loop").checked) time = start; else { time = end; play(false); }
      }
      dirty = true;
    }
    if (dirty) {
      dirty = false;
      draw();
      charts.move(time, world.find(time));
      byId("time").value = String(still ? 0 : (time - start) / (end - start));
      byId("clock").textContent = `${time.toFixed(digits)} s`;
      if (!kempe.ready) kempe.ready = true;
    }
    requestAnimationFrame(tick);
  }

  byId("play").onclick = () => play(!playing);
  byId("time").oninput = event => seek(start + (end - start) * Number(event.target.value));
  const pace = byId("speed"), nudge = Math.min(1 / 30, (end - start) / 100);
  if (!still && end - start < 1) {  // very short runs are played slowly
    pace.value = [0.1, 0.01].find(x => (end - start) / x >= 2) || "0.001";
    speed = Number(pace.value);
  }
  pace.onchange = event => { speed = Number(event.target.value); };
  byId("theme").onclick = () => { root.dataset.theme = theme() === "dark" ? "light" : "dark"; charts.repaint(); changed(); };
  darkScheme.addEventListener("change", () => { charts.repaint(); changed(); });
  for (const name of ["face", "iso"]) byId(name).onclick = () => view.choose(name);
  byId("reset").onclick = () => view.reset();
  for (const name of ["traces", "arrows", "joints", "axes"]) {
    const box = byId(name);
    if (wish.has(name)) box.checked = wish.get(name) !== "0";
    show[name] = box.checked;
    box.onchange = () => { show[name] = box.checked; changed(); };
  }
  // If bodies fly far, the camera follows them.
  const roams = reach > 3.5 * data.size, follow = byId("follow");
  follow.parentElement.hidden = !roams;
  follow.checked = show.follow = roams;
  follow.onchange = () => { show.follow = follow.checked; view.follows(follow.checked); };
  if (roams) view.follows(true);
  byId("traces").parentElement.hidden = !data.traces.length;
  byId("arrows").parentElement.hidden = !data.arrows.length;
  const keys = {
    " ": () => play(!playing), ArrowLeft: () => seek(time - nudge), ArrowRight: () => seek(time + nudge),
    Home: () => seek(start), End: () => seek(end), r: () => view.reset(), f: () => view.choose("face"), i: () => view.choose("iso"),
    d: () => byId("theme").click(), t: () => byId("traces").click(), a: () => byId("arrows").click(),
    j: () => byId("joints").click(), x: () => byId("axes").click(), l: () => byId("loop").click(),
  };
  document.addEventListener("keydown", event => {
    const typing = /^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys) || (typing && event.key !== " " && event.key.length > 1)) return;
    event.preventDefault();
    keys[event.key]();
  });
  const tip = byId("tip");
  canvas.addEventListener("pointermove", event => {
    if (view.busy() && view.dragged()) { tip.hidden = true; return; }
    const found = pose && world.hit(pose.places, ...view.ray(event), show);
    if (found !== hovered) { hovered = found; changed(); }
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found.name + (found.role === "joint" ? " (joint)" : "");
    const box = canvas.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - 120)}px`;
    tip.style.top = `${event.clientY - box.top + 14}px`;
  });
  canvas.addEventListener("pointerleave", () => { hovered = null; tip.hidden = true; changed(); });
  new ResizeObserver(resize).observe(canvas);
  new ResizeObserver(resize).observe(byId("plots"));

  Object.defineProperties(kempe, { playing: { get: () => playing }, time: { get: () => time } });
  kempe.seek = seek;
  kempe.play = play;
  kempe.view = view.choose;
  kempe.pixels = () => { draw(); return gl ? gl.pixels() : new Uint8Array(0); };
  resize();
  if (wish.has("view")) view.choose(wish.get("view"));
  if (wish.has("t")) seek(Number(wish.get("t")));
  else if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  else seek(start);
  requestAnimationFrame(now => { before = now; tick(now); });
}

app();
