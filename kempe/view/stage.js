// The stage: poses at any time, and everything that moves with them, as instances and lines.

const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map(k => [0, 1, 2].map(i => (k >> i) % 2 - 0.5));  // of a shape's bounding box

function stage(data) {
  const times = new Float32Array(bytes(data.times)), frames = times.length, count = data.bodies.length;
  const steps = unpacked(data.poses);  // seven columns per body: position, then quaternion
  const efforts = unpacked(data.efforts), shapes = [], meshes = {};
  data.shapes.forEach(([kind, body, role, color, name, p, q, s, extra]) => {
    const mesh = extra === undefined ? kind : kind + extra;
    if (extra !== undefined) meshes[mesh] = data.meshes[extra];  // corners, and triangles by indices
    shapes.push({ mesh, body, role, name, color: rgb(data.colors[color]), local: placed(q, p, s) });
  });
  const slim = data.slim, look = data.look, last = Math.max(frames - 1, 0);

  /** The frame before a time, and the fraction of the interval after it, 0..1. */
  function find(t) {
    let low = 0, high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle; else high = middle;
    }
    const span = times[high] - times[low];
    return [low, high, span > 0 ? clamp((t - times[low]) / span, 0, 1) : 0];
  }
  function bodies([low, high, s]) {
    const out = [placed([0, 0, 0, 1], [0, 0, 0])];
    for (let b = 1; b < count; b++) {
      const at = (k, n) => steps[7 * (b - 1) + n][k], rows = [0, 1, 2];
      const q = slerp([3, 4, 5, 6].map(n => at(low, n)), [3, 4, 5, 6].map(n => at(high, n)), s);
      out.push(placed(q, rows.map(n => at(low, n) + (at(high, n) - at(low, n)) * s)));
    }
    return out;
  }
  const trails = data.traces.map(([, body, p]) => Array.from(times, (_, k) => {
    const at = steps.slice(7 * (body - 1), 7 * body).map(column => column[k]);
    return body ? point(placed(at.slice(3), at.slice(0, 3)), p) : p;
  }));
  // Paths are drawn as curves through the frames (Catmull-Rom), each interval in a few parts.
  const parts = frames < 2500 ? 4 : 1;
  const curve = (trail, i, s) => {
    const [a, b, c, d] = [i - 1, i, i + 1, i + 2].map(k => trail[clamp(k, 0, last)]);
    return b.map((x, n) => x + s / 2 * (c[n] - a[n] + s * (2 * a[n] - 5 * x + 4 * c[n] - d[n] + s * (3 * (x - c[n]) + d[n] - a[n]))));
  };

  // The length of an arrow is relative to the largest of its kind in the run.
  const largest = { N: 0, "N·m": 0 };
  data.arrows.forEach(([, unitName, , , , v, column]) => {
    const sizes = column < 0 ? [1] : efforts[column];
    for (const x of sizes) largest[unitName] = Math.max(largest[unitName], Math.abs(x) * norm(v));
  });

  function at(t, show, hovered) {
    const where = find(t), places = bodies(where), solids = {}, over = {}, lines = [];
    const instance = (store, mesh, place, color, glow = 0) => {
      (store[mesh] = store[mesh] || []).push(...place, ...color, glow);
    };
    const line = (p, q, color, alpha, width) => lines.push(...p, ...q, ...color, alpha, width * show.ratio);
    for (const shape of shapes) {
      if (shape.role === "joint" && (!show.joints || show.off.has(shape.name))) continue;
      const glow = hovered && shape.name === hovered.name && shape.role === hovered.role ? 0.6 : 0;
      instance(solids, shape.mesh, product(places[shape.body], shape.local), shape.color, glow);
    }
    if (show.arrows) data.arrows.forEach(a => arrow(a, places, where, (...x) => instance(over, ...x)));
    const spring = rgb(data.spring);
    for (const [, a, p, b, q] of data.springs) coil(point(places[a], p), point(places[b], q), (u, v) => line(u, v, spring, 1, 2.2));
    if (show.traces) trails.forEach((trail, k) => {
      const color = show.trace[k % show.trace.length], here = point(places[data.traces[k][1]], data.traces[k][2]);
      const stop = where[0] + where[2];
      let before = trail[0];
      for (let i = 1; i <= last * parts; i++) {
        const s = (i - 1) / parts, end = i / parts, past = end <= stop, next = curve(trail, Math.floor(end - 1e-9), end - Math.floor(end - 1e-9));
        if (s < stop && !past) line(before, here, color, 1, 2.2);
        line(before, next, color, past ? 1 : 0.25, past ? 2.2 : 1.2);
        before = next;
      }
      instance(over, "sphere", placed([0, 0, 0, 1], here, Array(3).fill(2.6 * slim)), color, 0.4);
    });
    if (show.axes) places.forEach((place, b) => {
      [[0.88, 0.3, 0.3], [0.25, 0.66, 0.3], [0.3, 0.5, 0.95]].forEach((color, k) => {
        const e = [0, 0, 0];
        e[k] = (b ? 8 : 14) * slim;
        line(point(place, [0, 0, 0]), point(place, e), color, 1, 2.5);
      });
    });
    return { solids, over, lines, places };
  }

  function arrow([name, kind, body, p, carrier, vector, column], places, [low, high, s], put) {
    const effort = column < 0 ? 1 : efforts[column][low] + (efforts[column][high] - efforts[column][low]) * s;
    const push = scale(turned(places[carrier], vector), effort), size = norm(push), share = size / (largest[kind] || 1);
    if (share < 0.02) return;
    const from = point(places[body], p), axis = unit(push), color = rgb(column < 0 ? data.load : data.accent);
    const rod = (p, q, r, mesh = "cylinder") => {
      const span = sub(q, p), [u, v] = across(span);
      put(mesh, columns(scale(u, 2 * r), scale(v, 2 * r), span, mix(p, q, 0.5)), color, 0.8);
    };
    const thick = (0.4 + 0.3 * share) * slim;
    if (kind === "N") {
      const length = 0.3 * data.size * share, head = Math.min(6 * slim, 0.6 * length), r = thick * Math.min(1, head / (3 * slim));
      rod(from, add(from, scale(axis, length - head)), r);
      rod(add(from, scale(axis, length - head)), add(from, scale(axis, length)), 2.6 * r, "cone");
      return;
    }
    // A moment: a right-handed arc about its axis, longer for larger moments.
    const [u, v] = across(axis), radius = (4.5 + 2.5 * share) * slim, sweep = 0.3 + 4.5 * share, parts = Math.ceil(sweep * 6);
    const on = angle => add(from, add(scale(u, radius * Math.cos(angle)), scale(v, radius * Math.sin(angle))));
    for (let k = 0; k < parts; k++) rod(on(sweep * k / parts), on(sweep * (k + 1) / parts), thick);
    const headed = sweep + 0.5;
    rod(on(sweep), add(on(sweep), scale(unit(sub(on(headed), on(sweep))), 5 * thick)), 2.4 * thick, "cone");
  }
  function coil(p, q, stroke) {
    const span = sub(q, p), length = norm(span);
    if (!length) return;
    const [u, v] = across(span), turns = 9, radius = Math.min(2.4 * slim, length / 4), steps = 12 * turns;
    let before = p;
    for (let k = 0; k <= steps; k++) {
      const angle = 2 * Math.PI * turns * k / steps, s = 0.1 + 0.8 * k / steps;
      const here = add(add(p, scale(span, s)), add(scale(u, radius * Math.cos(angle)), scale(v, radius * Math.sin(angle))));
      stroke(before, here);
      before = here;
    }
    stroke(before, q);
  }
  /** The centre of the bodies, which the camera may follow, relative to that of the first frame. */
  function drift(places) {
    const mean = places.slice(1).reduce((sum, m) => add(sum, m.slice(12, 15)), [0, 0, 0]);
    return scale(mean, 1 / Math.max(1, count - 1));
  }
  const home = drift(bodies([0, 0, 0]));
  /** Points that must be in view: bounding boxes of all shapes at some frames, relative to a following camera. */
  function cloud(follows) {
    const out = [], few = Math.min(frames, Math.max(2, Math.ceil(3000 / (shapes.length + 1))));
    for (let k = 0; k < few; k++) {
      const frame = Math.round(last * k / Math.max(1, few - 1)), places = bodies([frame, frame, 0]);
      const off = follows ? sub(drift(places), home) : [0, 0, 0];
      for (const { body, local, mesh } of shapes) {
        if (follows && !body) continue;
        const m = product(places[body], local), own = meshes[mesh];
        for (const p of own ? own[0].map(([x, y, z = 0]) => [x, y, z]) : CORNERS) {
          out.push(sub(point(m, p), off));
        }
      }
    }
    return out;
  }
  /** The body or joint under a ray, if any; shapes count as their bounding boxes, balls as balls. */
  function hit(places, origin, direction, show) {
    let best = null, nearest = Infinity;
    for (const shape of shapes) {
      if (shape.role === "joint" && !show.joints) continue;
      const m = product(places[shape.body], shape.local), rows = [0, 1, 2].map(k => m.slice(4 * k, 4 * k + 3));
      const own = x => rows.map(row => dot(row, x) / (dot(row, row) || 1e-30));
      const o = own(sub(origin, m.slice(12, 15))), d = own(direction);
      let low = -Infinity, high = Infinity;
      if (shape.mesh === "sphere") {
        const a = dot(d, d), b = dot(o, d), root = b * b - a * (dot(o, o) - 0.25);
        if (root < 0) continue;
        low = (-b - Math.sqrt(root)) / a;
      } else {
        const corners = meshes[shape.mesh] ? meshes[shape.mesh][0] : [[]];
        for (let i = 0; i < 3; i++) {
          const along = i < corners[0].length ? corners.map(c => c[i]) : [-0.5, 0.5];  // a plate is a unit thick
          const least = Math.min(...along), most = Math.max(...along);
          const ends = [(least - o[i]) / d[i], (most - o[i]) / d[i]];
          low = Math.max(low, Math.min(...ends));
          high = Math.min(high, Math.max(...ends));
        }
        if (low > high) continue;
      }
      if (low < nearest) { nearest = low; best = shape; }
    }
    return best;
  }
  return { times, at, find, hit, cloud, meshes, off: places => sub(drift(places), home) };
}
