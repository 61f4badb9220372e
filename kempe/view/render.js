// Drawing with WebGL2: shaded solids with a sun and its shadows, lines of any width, a floor with a grid.

const SHADE = `
float lit(vec3 at, vec3 n) {
  vec3 p = (sun * vec4(at + n * grain, 1.)).xyz * .5 + .5;
  if (any(greaterThan(abs(p - .5), vec3(.5)))) return 1.;
  float sum = 0.;
  for (int i = -1; i <= 1; i++) for (int j = -1; j <= 1; j++)
    sum += texture(shadows, vec3(p.xy + vec2(i, j) / 1600., p.z - .0012));
  return sum / 9.;
}`;
const UNIFORMS = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
uniform mat4 camera, sun;
uniform vec3 eye, sunward, up, ink;
uniform float grain, dark, dots;
uniform sampler2DShadow shadows;
`;
const INSTANCE = `
layout(location=0) in vec3 corner;
layout(location=1) in vec3 normal;
layout(location=2) in mat4 place;
layout(location=6) in vec4 tint;
`;
const SOURCES = {
  solid: [INSTANCE + `
out vec3 at, n; out vec4 shade;
void main() {
  vec4 world = place * vec4(corner, 1.);
  vec3 x = place[0].xyz, y = place[1].xyz, z = place[2].xyz;
  n = normalize(x * (normal.x / dot(x, x)) + y * (normal.y / dot(y, y)) + z * (normal.z / dot(z, z)));
  at = world.xyz; shade = tint;
  gl_Position = camera * world;
}`, SHADE + `
in vec3 at, n; in vec4 shade; out vec4 color;
void main() {
  vec3 m = normalize(n), v = normalize(eye - at), base = pow(shade.rgb, vec3(2.2));
  float day = max(dot(m, sunward), 0.) * lit(at, m), sky = .5 + .5 * dot(m, up);
  vec3 c = base * (day * 1.05 + mix(.22, .5, sky) + shade.a * .5);
  c += pow(max(dot(m, normalize(v + sunward)), 0.), 40.) * .22 * day;
  c += base * pow(1. - max(dot(m, v), 0.), 3.) * .25;
  color = vec4(pow(c, vec3(1. / 2.2)), 1.);
}`],
  shadow: [INSTANCE + `void main() { gl_Position = sun * place * vec4(corner, 1.); }`, `void main() {}`],
  edge: [INSTANCE + `
out vec4 shade;
void main() {
  vec4 at = place * vec4(corner, 1.);
  // Slightly closer to the eye, just so that a face does not hide its own edges.
  gl_Position = camera * vec4(mix(at.xyz, eye, 1.5e-3), 1.);
  // Edges of shapes a few pixels wide would hide their color.
  float wide = max(length(place[0]), length(place[1])) * dots / gl_Position.w;
  shade = vec4(tint.rgb * .3, .6 * smoothstep(3., 16., wide));
}`, `in vec4 shade; out vec4 color; void main() { color = shade; }`],
  line: [`
layout(location=0) in vec2 side;
layout(location=1) in vec3 start;
layout(location=2) in vec3 end;
layout(location=3) in vec4 tint;
layout(location=4) in float width;
uniform vec2 screen;
out vec4 shade;
void main() {
  vec4 p = camera * vec4(start, 1.), q = camera * vec4(end, 1.);
  vec2 along = (q.xy / q.w - p.xy / p.w) * screen;
  along = length(along) > 1e-6 ? normalize(along) : vec2(1., 0.);
  vec4 here = side.x < .5 ? p : q;
  vec2 off = (vec2(-along.y, along.x) * side.y + along * (side.x - .5) * .6) * width / screen;
  gl_Position = here + vec4(off * here.w, -1e-4 * here.w, 0.);
  shade = tint;
}`, `in vec4 shade; out vec4 color; void main() { color = shade; }`],
  floor: [`
layout(location=0) in vec2 side;
uniform vec3 middle, east, north;
out vec3 at; out vec2 place;
void main() { place = side; at = middle + east * side.x + north * side.y; gl_Position = camera * vec4(at, 1.); }`, SHADE + `
uniform vec3 middle, east, north;
uniform float pitch;
in vec3 at; in vec2 place; out vec4 color;
float ruled(vec2 p, float wide) {
  vec2 step = fwidth(p), d = abs(fract(p - .5) - .5) / max(step, vec2(1e-9));
  float fine = 1. - clamp(max(step.x, step.y) * 3., 0., 1.);
  return fine * (1. - clamp(min(d.x, d.y) - wide + .5, 0., 1.));
}
void main() {
  float fade = 1. - smoothstep(.35, 1., length(place));
  vec2 p = vec2(dot(at, normalize(east)), dot(at, normalize(north))) / pitch;
  float grid = max(ruled(p, .5) * .16, ruled(p / 5., .6) * .3);
  vec3 n = normalize(cross(east, north));
  float shade = (1. - lit(at, n)) * mix(.26, .5, dark);
  float a = max(grid, shade);
  color = vec4(mix(ink, vec3(0.), shade / max(grid + shade, 1e-4)), (shade + grid * (1. - shade)) * fade);
}`],
};

function renderer(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "high-performance" });
  if (!gl) return null;
  const programs = {}, MAP = 2048, NUMBERS = 20;
  for (const [name, parts] of Object.entries(SOURCES)) {
    const program = gl.createProgram();
    parts.forEach((text, k) => {
      const shader = gl.createShader(k ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
      gl.shaderSource(shader, UNIFORMS + text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw Error(name + ": " + gl.getShaderInfoLog(shader));
    });
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw Error(name + ": " + gl.getProgramInfoLog(program));
    const at = {};
    for (let k = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k--;) {
      const { name: own } = gl.getActiveUniform(program, k);
      at[own] = gl.getUniformLocation(program, own);
    }
    programs[name] = { program, at };
  }
  const depth = gl.createTexture(), target = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, depth);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, MAP, MAP);
  for (const [key, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
    [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
    [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) gl.texParameteri(gl.TEXTURE_2D, key, value);
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, depth, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);

  function buffer(kind, data) {
    const own = gl.createBuffer();
    gl.bindBuffer(kind, own);
    gl.bufferData(kind, data, gl.STATIC_DRAW);
    return own;
  }
  function attribute(where, size, stride, offset, divisor = 0) {
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, size, gl.FLOAT, false, 4 * stride, 4 * offset);
    gl.vertexAttribDivisor(where, divisor);
  }
  const batches = {};
  /** Registers a mesh under a name, to be drawn many times. */
  function learn(name, m) {
    const instances = gl.createBuffer();
    const places = () => {
      gl.bindBuffer(gl.ARRAY_BUFFER, instances);
      for (let k = 0; k < 5; k++) attribute(2 + k, 4, NUMBERS, 4 * k, 1);
    };
    const faces = gl.createVertexArray();
    gl.bindVertexArray(faces);
    buffer(gl.ARRAY_BUFFER, new Float32Array(m.corners));
    attribute(0, 3, 6, 0);
    attribute(1, 3, 6, 3);
    buffer(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(m.triangles));
    places();
    const lines = gl.createVertexArray();
    gl.bindVertexArray(lines);
    buffer(gl.ARRAY_BUFFER, new Float32Array(m.edges));
    attribute(0, 3, 3, 0);
    places();
    gl.bindVertexArray(null);
    batches[name] = { instances, faces, lines, triangles: m.triangles.length, edges: m.edges.length / 3 };
  }
  const strokes = gl.createVertexArray(), segments = gl.createBuffer(), STROKE = 11;
  gl.bindVertexArray(strokes);
  buffer(gl.ARRAY_BUFFER, new Float32Array([0, -1, 1, -1, 0, 1, 1, 1]));
  attribute(0, 2, 2, 0);
  gl.bindBuffer(gl.ARRAY_BUFFER, segments);
  [[1, 3, 0], [2, 3, 3], [3, 4, 6], [4, 1, 10]].forEach(([where, size, from]) => attribute(where, size, STROKE, from, 1));
  const ground = gl.createVertexArray();
  gl.bindVertexArray(ground);
  buffer(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
  attribute(0, 2, 2, 0);
  gl.bindVertexArray(null);

  function use(name, values) {
    const { program, at } = programs[name];
    gl.useProgram(program);
    for (const [key, value] of Object.entries(values)) if (at[key]) {
      if (value.length === 16) gl.uniformMatrix4fv(at[key], false, value);
      else if (value.length === 3) gl.uniform3fv(at[key], value);
      else if (value.length === 2) gl.uniform2fv(at[key], value);
      else gl.uniform1f(at[key], value);
    }
  }
  function upload(solids) {
    for (const [name, numbers] of Object.entries(solids)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, batches[name].instances);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.DYNAMIC_DRAW);
    }
  }
  function each(solids, what) {
    for (const [name, numbers] of Object.entries(solids)) {
      const b = batches[name], count = numbers.length / NUMBERS;
      gl.bindVertexArray(b[what]);
      if (what === "faces") gl.drawElementsInstanced(gl.TRIANGLES, b.triangles, gl.UNSIGNED_SHORT, 0, count);
      else if (b.edges) gl.drawArraysInstanced(gl.LINES, 0, b.edges, count);
    }
  }
  /** Draws one picture. solids, over: mesh name -> instances (20 numbers each); `over` is in front of everything. */
  function draw({ solids, over, lines, floor, values, background }) {
    upload(solids);
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.bindTexture(gl.TEXTURE_2D, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.viewport(0, 0, MAP, MAP);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 2);
    use("shadow", values);
    each(solids, "faces");
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.bindTexture(gl.TEXTURE_2D, depth);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.polygonOffset(1, 1);
    gl.depthRange(0.05, 1);
    use("solid", values);
    each(solids, "faces");
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);
    use("edge", values);
    each(solids, "lines");
    gl.depthMask(false);
    use("floor", { ...values, ...floor });
    gl.bindVertexArray(ground);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
    gl.bindBuffer(gl.ARRAY_BUFFER, segments);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(lines), gl.DYNAMIC_DRAW);
    use("line", { ...values, screen: [canvas.width, canvas.height] });
    gl.bindVertexArray(strokes);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, lines.length / STROKE);
    upload(over);
    gl.disable(gl.BLEND);
    gl.depthRange(0, 0.05);
    use("solid", values);
    each(over, "faces");
    gl.depthRange(0, 1);
  }
  function pixels() {
    const out = new Uint8Array(4 * canvas.width * canvas.height);
    gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, out);
    return out;
  }
  return { gl, learn, draw, pixels };
}
