// WebGL2: the two programs of the 3-D view, one for points of a cloud as they come over the wire, one for lines and faces.

import { heightRamp, hue, intensityRamp, tags } from './colors.js';

// bytesOfPoint is a point on the wire: u16 x, y, z within the scan's box, u8 intensity, ring, tag,
// return (0 where a firing has one), u32 instance.
export const bytesOfPoint = 14;

export const colorings = ['intensity', 'height', 'ring', 'tag', 'instance', 'return'];

const pointVertex = `#version 300 es
precision highp float;
layout(location = 0) in vec3 place;      // 0..1 within the box
layout(location = 1) in uvec4 marks;     // intensity, ring, tag, return
layout(location = 2) in uvec2 instance;  // low and high half: 14 bytes a point don't align 32 bits
uniform mat4 toScreen;
uniform vec3 origin, size;
uniform vec4 height;                     // dot with a point: metres above the ground
uniform int by;
uniform float pixels, fade;
uniform sampler2D ramps;
out vec4 color;

vec3 ofId(float id) {
  float h = 6.0 * fract(id * 0.6180339887);
  float value = 0.65 + 0.35 * fract(id * 0.7548776662);
  return value * (0.15 + 0.85 * clamp(vec3(abs(h - 3.0) - 1.0, 2.0 - abs(h - 2.0), 2.0 - abs(h - 4.0)), 0.0, 1.0));
}

void main() {
  vec4 at = vec4(origin + size * place, 1.0);
  gl_Position = toScreen * at;
  gl_PointSize = pixels;
  uint column = uint(sqrt(float(marks.x) / 255.0) * 255.0); // most surfaces are dull
  if (by == 1) column = uint(clamp((dot(height, at) + 0.5) / 8.5, 0.0, 1.0) * 255.0);
  if (by == 2) column = (marks.y * 37u) & 255u; // neighbouring rings differ
  if (by == 3) column = marks.z;
  vec3 c = texelFetch(ramps, ivec2(column, by), 0).rgb;
  uint id = instance.x | (instance.y << 16);
  if (by == 4) c = id == 0u ? vec3(0.4) : ofId(float(id & 0xffffu));
  if (by == 5) c = marks.w == 0u ? vec3(0.4) : ofId(float(marks.w));
  color = vec4(c, fade);
}`;

const lineVertex = `#version 300 es
layout(location = 0) in vec3 place;
layout(location = 1) in vec4 paint;
uniform mat4 toScreen;
out vec4 color;
void main() {
  gl_Position = toScreen * vec4(place, 1.0);
  color = paint;
}`;

const fragment = `#version 300 es
precision mediump float;
in vec4 color;
out vec4 shown;
void main() {
  shown = vec4(color.rgb * color.a, color.a);
}`;

// Painter draws on one canvas. It throws where the browser has no WebGL2.
export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext('webgl2', { antialias: true, alpha: false, powerPreference: 'high-performance' });
    if (!gl) throw new Error('this browser has no WebGL2');
    this.gl = gl;
    this.points = program(gl, pointVertex, ['toScreen', 'origin', 'size', 'height', 'by', 'pixels', 'fade']);
    this.lines = program(gl, lineVertex, ['toScreen']);
    this.ramps = rampTexture(gl);
    this.lineArray = gl.createVertexArray();
    this.lineBuffer = gl.createBuffer();
    gl.bindVertexArray(this.lineArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lineBuffer);
    gl.enableVertexAttribArray(0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 16, 0);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 16, 12);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  begin(width, height, [r, g, b]) {
    const gl = this.gl;
    gl.viewport(0, 0, width, height);
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  // upload keeps a cloud's points, in the place of an older cloud's where one is given.
  upload(points, old) {
    const gl = this.gl;
    const cloud = old ?? { array: gl.createVertexArray(), buffer: gl.createBuffer() };
    gl.bindBuffer(gl.ARRAY_BUFFER, cloud.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, points, gl.STREAM_DRAW);
    if (!old) {
      gl.bindVertexArray(cloud.array);
      for (const i of [0, 1, 2]) gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, bytesOfPoint, 0);
      gl.vertexAttribIPointer(1, 4, gl.UNSIGNED_BYTE, bytesOfPoint, 6);
      gl.vertexAttribIPointer(2, 2, gl.UNSIGNED_SHORT, bytesOfPoint, 10);
    }
    return cloud;
  }

  forget({ array, buffer }) {
    this.gl.deleteVertexArray(array);
    this.gl.deleteBuffer(buffer);
  }

  // drawCloud draws count points. look is {toScreen, origin, size, height, by, pixels, fade}.
  drawCloud(cloud, count, look) {
    const gl = this.gl;
    const { uniforms } = this.points;
    gl.useProgram(this.points.handle);
    gl.bindTexture(gl.TEXTURE_2D, this.ramps);
    gl.uniformMatrix4fv(uniforms.toScreen, false, new Float32Array(look.toScreen));
    gl.uniform3fv(uniforms.origin, look.origin);
    gl.uniform3fv(uniforms.size, look.size);
    gl.uniform4fv(uniforms.height, look.height);
    gl.uniform1i(uniforms.by, look.by);
    gl.uniform1f(uniforms.pixels, look.pixels);
    gl.uniform1f(uniforms.fade, look.fade);
    gl.bindVertexArray(cloud.array);
    gl.drawArrays(gl.POINTS, 0, count);
  }

  // drawSketch draws lines, or faces, which don't hide what is behind them.
  drawSketch(sketch, toScreen, filled) {
    const gl = this.gl;
    const bytes = sketch.bytes();
    if (bytes.length === 0) return;
    gl.useProgram(this.lines.handle);
    gl.uniformMatrix4fv(this.lines.uniforms.toScreen, false, new Float32Array(toScreen));
    gl.bindVertexArray(this.lineArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lineBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STREAM_DRAW);
    gl.depthMask(!filled);
    gl.drawArrays(filled ? gl.TRIANGLES : gl.LINES, 0, bytes.length / 16);
    gl.depthMask(true);
  }
}

// Sketch collects corners of lines or triangles: points that count from an origin, with a colour of four bytes.
export class Sketch {
  constructor() {
    this.buffer = new ArrayBuffer(1 << 16);
    this.begin([0, 0, 0]);
  }
  begin(origin) {
    this.origin = origin;
    this.used = 0;
    this.floats = new Float32Array(this.buffer);
    this.colors = new Uint8Array(this.buffer);
  }
  put(p, color) {
    if (this.used + 16 > this.buffer.byteLength) {
      const larger = new ArrayBuffer(2 * this.buffer.byteLength);
      new Uint8Array(larger).set(this.colors);
      this.buffer = larger;
      this.floats = new Float32Array(larger);
      this.colors = new Uint8Array(larger);
    }
    const f = this.used >> 2;
    for (let i = 0; i < 3; i++) this.floats[f + i] = p[i] - this.origin[i];
    this.colors.set(color, this.used + 12);
    this.used += 16;
  }
  line(a, b, color) {
    this.put(a, color);
    this.put(b, color);
  }
  bytes() { return new Uint8Array(this.buffer, 0, this.used); }
}

function program(gl, vertex, names) {
  const handle = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(handle, shader);
  }
  gl.linkProgram(handle);
  if (!gl.getProgramParameter(handle, gl.LINK_STATUS)) throw new Error(`the graphics driver refuses a shader: ${gl.getProgramInfoLog(handle)}`);
  return { handle, uniforms: Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(handle, name)])) };
}

// rampTexture has a row of 256 colours for each way to colour.
function rampTexture(gl) {
  const rows = [intensityRamp, heightRamp, (v) => hue(v * 0.999).map((x) => 80 + 175 * x), (v) => legible(tags[Math.round(v * 255) % tags.length].slice(1))];
  const texels = new Uint8Array(rows.flatMap((row) => Array.from({ length: 256 }, (_, i) => [...row(i / 255), 255]).flat()));
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, rows.length, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  return texture;
}

// legible lightens a colour that would be lost on a dark ground, as CityScapes' blue of cars is.
export function legible(rgb) {
  const light = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2];
  const lift = Math.max(0, 90 - light) / 165;
  return rgb.map((x) => Math.round(x + (255 - x) * lift));
}
