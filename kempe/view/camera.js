// The camera: orbits about its target, pans and zooms, by mouse, pen, touch and wheel.

const TANGENT = Math.tan(17 * Math.PI / 180);  // of half the field of view

function camera(canvas, look, cloudOf, changed) {
  const middle = look.low.map((x, i) => (x + look.high[i]) / 2), axes = [look.right, look.up, look.front];
  const world = v => axes.reduce((sum, e, i) => add(sum, scale(e, v[i])), [0, 0, 0]);
  let cloud = cloudOf(false), inside = middle;
  const state = { follow: [0, 0, 0], turn: 0, rise: 0, distance: 1, target: world(middle), flat: look.flat };
  const aspect = () => Math.max(0.1, canvas.clientWidth / Math.max(1, canvas.clientHeight));
  const towards = () => world([Math.sin(state.turn) * Math.cos(state.rise), Math.sin(state.rise), Math.cos(state.turn) * Math.cos(state.rise)]);
  let chosen = look.flat ? "face" : "iso";

  /** Moves as close as possible with everything in view. */
  function fit() {
    const view = looking(towards(), [0, 0, 0], look.up), tangents = [TANGENT * aspect(), TANGENT], at = [0, 0];
    const seen = cloud.map(p => turned(view, p));
    // The eye is at (x, y, d): every point lies within the wedges of both planes, so d is their intersection.
    let distance = 0;
    for (let i = 0; i < 2; i++) {
      let low = Infinity, high = -Infinity;
      for (const p of seen) {
        const room = state.flat ? 0 : p[2] * tangents[i];
        low = Math.min(low, p[i] - room);
        high = Math.max(high, p[i] + room);
      }
      at[i] = (low + high) / 2;
      distance = Math.max(distance, (high - low) / 2 / tangents[i]);
    }
    const side = [view[0], view[4], view[8]], top = [view[1], view[5], view[9]];
    const inner = dot(world(inside), towards());
    state.target = add(add(scale(side, at[0]), scale(top, at[1])), scale(towards(), inner));
    state.distance = (state.flat ? 1.12 * distance : 1.1 * (distance - inner)) || 1;
    changed();
  }
  /** Whether the camera follows the bodies; its extent is then relative to them. */
  function follows(on) {
    cloud = cloudOf(on);
    const seen = cloud.map(p => axes.map(e => dot(e, p)));
    inside = on ? [0, 1, 2].map(i => seen.reduce((sum, p) => sum + p[i], 0) / seen.length) : middle;
    state.follow = [0, 0, 0];
    fit();
  }
  function choose(name) {
    chosen = name;
    state.flat = name === "face";
    [state.turn, state.rise] = name === "face" ? [0, 0] : look.flat ? [0.5, 0.35] : [0.62, 0.36];
    fit();
  }
  function matrices() {
    const size = norm(sub(look.high, look.low)), target = add(state.target, state.follow), eye = add(target, scale(towards(), state.distance));
    const far = state.distance + 6 * size, near = Math.max(state.distance / 200, state.distance - 6 * size);
    const view = looking(eye, target, look.up);
    const lens = state.flat
      ? orthographic(TANGENT * state.distance, aspect(), -far, far)
      : perspective(TANGENT, aspect(), near, far);
    return { eye: state.flat ? add(target, scale(towards(), far)) : eye, target, view, camera: product(lens, view), dots: canvas.height / 2 / TANGENT / (state.flat ? state.distance : 1) };
  }
  /** The ray under a point of the screen: origin and direction. */
  function ray(event) {
    const r = canvas.getBoundingClientRect(), { eye, target, view } = matrices(), half = TANGENT * state.distance;
    const x = (2 * (event.clientX - r.left) / r.width - 1) * half * aspect(), y = (1 - 2 * (event.clientY - r.top) / r.height) * half;
    const side = [view[0], view[4], view[8]], top = [view[1], view[5], view[9]];
    const on = add(target, add(scale(side, x), scale(top, y)));
    return state.flat ? [add(on, scale(towards(), norm(sub(eye, target)))), scale(towards(), -1)] : [eye, sub(on, eye)];
  }
  function pan(dx, dy) {
    const view = matrices().view, step = 2 * TANGENT * state.distance / canvas.clientHeight;
    state.target = add(state.target, add(scale([view[0], view[4], view[8]], -dx * step), scale([view[1], view[5], view[9]], dy * step)));
  }
  const down = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, [event.clientX, event.clientY]);
    moved = 0;
  });
  canvas.addEventListener("pointermove", event => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const here = [event.clientX, event.clientY], dx = here[0] - before[0], dy = here[1] - before[1];
    moved += Math.abs(dx) + Math.abs(dy);
    if (down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const gap = p => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      state.distance *= gap(before) / gap(here);
      pan(dx / 2, dy / 2);
    } else if (event.shiftKey || event.ctrlKey || event.buttons & 6) pan(dx, dy);
    else {
      state.turn -= dx * 0.008;
      state.rise = clamp(state.rise + dy * 0.008, -1.55, 1.55);
    }
    down.set(event.pointerId, here);
    changed();
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, event => down.delete(event.pointerId));
  canvas.addEventListener("wheel", event => {
    // Inside another page, the wheel scrolls that page until the user clicks here.
    if (window.parent !== window && document.activeElement !== canvas) return;
    event.preventDefault();
    state.distance *= Math.exp(clamp(event.deltaY * (event.deltaMode ? 20 : 1), -200, 200) * 0.0015);
    changed();
  }, { passive: false });
  canvas.addEventListener("contextmenu", event => event.preventDefault());
  canvas.addEventListener("dblclick", () => choose(look.flat ? "face" : "iso"));
  choose(chosen);
  return { matrices, choose, fit, follows, moveWith: off => { state.follow = off; }, ray, towards, busy: () => down.size > 0, dragged: () => moved > 4, reset: () => choose(look.flat ? "face" : "iso") };
}
