// Vectors, quaternions (x, y, z, w) and 4 x 4 matrices by columns; packed numbers.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = a => Math.hypot(a[0], a[1], a[2]);
const unit = a => scale(a, 1 / (norm(a) || 1));
const mix = (a, b, s) => a.map((x, i) => x + (b[i] - x) * s);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

/** Two unit vectors perpendicular to a third and to each other. */
function across(axis) {
  const u = unit(cross(axis, Math.abs(axis[0]) < 0.8 * norm(axis) ? [1, 0, 0] : [0, 1, 0]));
  return [u, unit(cross(axis, u))];
}

/** Interpolates two rotations at constant rate, the short way. */
function slerp(a, b, s) {
  let c = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  const sign = c < 0 ? -1 : 1;
  c = Math.min(1, Math.abs(c));
  const angle = Math.acos(c), sine = Math.sin(angle);
  const [p, q] = sine < 1e-5 ? [1 - s, s] : [Math.sin((1 - s) * angle) / sine, Math.sin(s * angle) / sine];
  const out = a.map((x, i) => p * x + sign * q * b[i]), size = Math.hypot(...out);
  return out.map(x => x / size);
}

/** A matrix from a rotation, a position and scales along its own axes. */
function placed([x, y, z, w], p, s = [1, 1, 1]) {
  return [
    (1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y + w * z) * s[0], 2 * (x * z - w * y) * s[0], 0,
    2 * (x * y - w * z) * s[1], (1 - 2 * (x * x + z * z)) * s[1], 2 * (y * z + w * x) * s[1], 0,
    2 * (x * z + w * y) * s[2], 2 * (y * z - w * x) * s[2], (1 - 2 * (x * x + y * y)) * s[2], 0,
    p[0], p[1], p[2], 1];
}

/** A matrix from three columns and a position. */
const columns = (u, v, w, p) => [...u, 0, ...v, 0, ...w, 0, ...p, 1];

function product(a, b) {
  const out = new Array(16);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
    out[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
  }
  return out;
}

const point = (m, p) => [0, 1, 2].map(r => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
const turned = (m, v) => [0, 1, 2].map(r => m[r] * v[0] + m[4 + r] * v[1] + m[8 + r] * v[2]);

/** The matrix from world to eye, for an eye that looks at a target. */
function looking(eye, target, up) {
  const z = unit(sub(eye, target)), x = unit(cross(up, z)), y = cross(z, x);
  return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1];
}

function perspective(tangent, aspect, near, far) {
  const d = 1 / (near - far);
  return [1 / (tangent * aspect), 0, 0, 0, 0, 1 / tangent, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0];
}

function orthographic(half, aspect, near, far) {
  const d = 1 / (near - far);
  return [1 / (half * aspect), 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 * d, 0, 0, 0, (far + near) * d, 1];
}

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

/** Columns of numbers, each packed as 16-bit steps between its minimum and maximum. */
function unpacked({ low, span, data }) {
  const steps = new Uint16Array(bytes(data)), rows = low.length ? steps.length / low.length : 0;
  return low.map((least, c) =>
    Float64Array.from({ length: rows }, (_, r) => least + span[c] * steps[r * low.length + c] / 65535));
}

const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255);
