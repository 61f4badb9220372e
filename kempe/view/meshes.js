// The unit meshes of all shapes: corners with normals, triangles, and the edges to draw.

function mesh() {
  const corners = [], triangles = [], edges = [];
  return {
    corners, triangles, edges,
    corner(p, n) { corners.push(...p, ...n); return corners.length / 6 - 1; },
    edge(p, q) { edges.push(...p, ...q); },
    quad(a, b, c, d) { triangles.push(a, b, c, a, c, d); },
  };
}

function boxMesh() {
  const m = mesh();
  for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) {
    const at = (u, v) => {
      const p = [0, 0, 0];
      p[axis] = side / 2; p[(axis + 1) % 3] = u / 2; p[(axis + 2) % 3] = v / 2;
      return p;
    };
    const n = [0, 0, 0];
    n[axis] = side;
    const round = side > 0 ? [[-1, -1], [1, -1], [1, 1], [-1, 1]] : [[-1, -1], [-1, 1], [1, 1], [1, -1]];
    m.quad(...round.map(([u, v]) => m.corner(at(u, v), n)));
    if (side > 0) for (const [u, v] of [[-1, -1], [-1, 1], [1, -1], [1, 1]]) {
      const p = [0, 0, 0], q = [0, 0, 0];
      p[axis] = -0.5; q[axis] = 0.5;
      p[(axis + 1) % 3] = q[(axis + 1) % 3] = u / 2; p[(axis + 2) % 3] = q[(axis + 2) % 3] = v / 2;
      m.edge(p, q);
    }
  }
  return m;
}

/** A solid of revolution about z with two radii: a cylinder or a cone. */
function drumMesh(low, high, count = 36) {
  const m = mesh(), ring = k => [Math.cos(2 * Math.PI * k / count), Math.sin(2 * Math.PI * k / count)];
  for (let k = 0; k < count; k++) {
    const [c, s] = ring(k), [d, t] = ring(k + 1), rise = low - high;
    const size = Math.hypot(1, rise), n = (x, y) => [x / size, y / size, rise / size];
    m.quad(m.corner([low * c, low * s, -0.5], n(c, s)), m.corner([low * d, low * t, -0.5], n(d, t)),
      m.corner([high * d, high * t, 0.5], n(d, t)), m.corner([high * c, high * s, 0.5], n(c, s)));
    for (const [r, z] of [[low, -0.5], [high, 0.5]]) if (r) {
      const turn = z > 0 ? 1 : -1, e = [0, 0, turn];
      const three = [m.corner([0, 0, z], e), m.corner([r * c, r * s, z], e), m.corner([r * d, r * t, z], e)];
      m.triangles.push(...(turn > 0 ? three : three.reverse()));
      if (low && high) m.edge([r * c, r * s, z], [r * d, r * t, z]);
    }
  }
  return m;
}

function sphereMesh(count = 18) {
  const m = mesh();
  for (let i = 0; i <= count; i++) for (let k = 0; k <= 2 * count; k++) {
    const a = Math.PI * i / count, b = Math.PI * k / count;
    const n = [Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a)];
    m.corner(scale(n, 0.5), n);
    if (i && k) {
      const row = 2 * count + 1, here = i * row + k;
      m.quad(here - row - 1, here - 1, here, here - row);
    }
  }
  return m;
}

/** An outline extruded along z, its faces split into the given triangles (counter-clockwise). */
function plateMesh(outline, faces) {
  const m = mesh();
  const turn = Math.sign(outline.reduce((sum, [x, y], k) => {
    const [u, v] = outline[(k + 1) % outline.length];
    return sum + x * v - u * y;
  }, 0));
  for (const side of [-1, 1]) {
    const first = m.corners.length / 6;
    outline.forEach(([x, y]) => m.corner([x, y, side / 2], [0, 0, side]));
    faces.forEach(([a, b, c]) => m.triangles.push(first + a, first + (side > 0 ? b : c), first + (side > 0 ? c : b)));
  }
  outline.forEach(([x, y], k) => {
    const [u, v] = outline[(k + 1) % outline.length], n = unit([turn * (v - y), turn * (x - u), 0]);
    const at = [[x, y, -0.5], [u, v, -0.5], [u, v, 0.5], [x, y, 0.5]].map(p => m.corner(p, n));
    m.quad(...(turn > 0 ? at : at.reverse()));
    m.edge([x, y, -0.5], [u, v, -0.5]);
    m.edge([x, y, 0.5], [u, v, 0.5]);
    m.edge([x, y, -0.5], [x, y, 0.5]);
  });
  return m;
}

/** Flat triangles; edges where the surface bends by more than a third of a right angle. */
function hullMesh(corners, faces) {
  const m = mesh(), beside = {};
  faces.forEach(face => {
    const [a, b, c] = face.map(k => corners[k]), n = unit(cross(sub(b, a), sub(c, a)));
    m.triangles.push(...face.map(k => m.corner(corners[k], n)));
    face.forEach((from, k) => {
      const to = face[(k + 1) % 3], other = beside[[to, from]];
      if (other && dot(other, n) < 0.866) m.edge(corners[from], corners[to]);
      beside[[from, to]] = n;
    });
  });
  return m;
}
