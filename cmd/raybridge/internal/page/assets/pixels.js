// Pictures whose pixels are values: labels, ids, depth, normals, flow. They come lossless, so that what stands
// under the pointer is the value itself; the colours are made here.

import { depthRamp, hue, idColor, tagName, tags } from './colors.js';

// kinds say, by encoding, of which numbers pixels are made, how many, and how they are shown and told.
const kinds = {
  mono8: { of: Uint8Array, each: 1, color: (v) => [v, v, v], tell: (v) => String(v) },
  rgb8: { of: Uint8Array, each: 3, color: (r, g, b) => [r, g, b], tell: (...rgb) => rgb.join(' ') },
  bgr8: { of: Uint8Array, each: 3, color: (b, g, r) => [r, g, b], tell: (b, g, r) => [r, g, b].join(' ') },
  bgra8: { of: Uint8Array, each: 4, color: (b, g, r) => [r, g, b], tell: (b, g, r) => [r, g, b].join(' ') },
  mono16: { of: Uint16Array, each: 1, color: (v) => [v >> 8, v >> 8, v >> 8], tell: (v) => String(v) },
  '16UC1': { of: Uint16Array, each: 1, color: idColor, tell: (v) => `id ${v}` },
  '32SC1': { of: Int32Array, each: 1, color: idColor, tell: (v) => `id ${v}` },
  '32FC1': { of: Float32Array, each: 1, color: depthColor, tell: tellDepth },
  '32FC2': { of: Float32Array, each: 2, color: flowColor, tell: (x, y) => `${signed(x, 4)} ${signed(y, 4)} of the picture` },
  '32FC3': { of: Float32Array, each: 3, color: normalColor, tell: (...xyz) => xyz.map((v) => signed(v, 2)).join(' ') },
};

const semantic = { of: Uint8Array, each: 1, color: (v) => tags[v % tags.length].slice(1), tell: (v) => `${tagName(v)} (${v})` };
// millimetres are how near depth comes: 65535 is out of range, 0 nearer than the range.
const millimetres = { of: Uint16Array, each: 1, color: (v) => depthColor(metresOf(v)), tell: (v) => tellDepth(metresOf(v)) };
const metresOf = (v) => (v === 65535 ? Infinity : v === 0 ? -Infinity : v / 1000);

// kindOf returns how the pixels of an encoding are read, given the unit of depth ("mm" or none) and the id of the type of sensor
// that took them.
export function kindOf(encoding, unit, sensorType) {
  if (unit === 'mm') return millimetres;
  if (encoding === 'mono8' && sensorType.startsWith('sensor.camera.semantic')) return semantic;
  const kind = kinds[encoding];
  if (!kind) throw new Error(`pictures of the encoding ${encoding} can't be shown`);
  return kind;
}

// valuesOf returns the pixels' numbers, which share the bytes' memory where it is aligned.
export function valuesOf(kind, bytes) {
  const size = kind.of.BYTES_PER_ELEMENT;
  const aligned = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  return new kind.of(aligned.buffer, aligned.byteOffset, Math.floor(aligned.byteLength / size));
}

// paint returns the colours of a picture as ImageData. Equal neighbours, most of a picture of labels, are worked out once.
export function paint(kind, values, width, height) {
  const { each, color } = kind;
  if (values.length < width * height * each) throw new Error('the picture has fewer pixels than its size says');
  const out = new Uint32Array(width * height);
  let before = NaN;
  let abgr = 0;
  for (let i = 0; i < out.length; i++) {
    const at = i * each;
    const first = values[at];
    if (each > 1 || first !== before) {
      const [r, g, b] = each === 1 ? color(first) : color(values[at], values[at + 1], values[at + 2]);
      abgr = (255 << 24) | (b << 16) | (g << 8) | r;
      before = first;
    }
    out[i] = abgr;
  }
  return new ImageData(new Uint8ClampedArray(out.buffer), width, height);
}

// tell says what a pixel is, in words.
export function tell(kind, values, pixel) {
  return kind.tell(...values.subarray(pixel * kind.each, (pixel + 1) * kind.each));
}

function signed(v, digits) {
  return (v < 0 ? '' : '+') + v.toFixed(digits);
}

function tellDepth(metres) {
  if (Number.isNaN(metres)) return 'no depth';
  if (metres === -Infinity) return 'nearer than its range';
  return metres === Infinity ? 'out of range' : `${metres.toFixed(metres < 100 ? 3 : 2)} m`;
}

// depthColor spreads the near distances and squeezes the far ones; what is out of range (REP-117) is dark.
function depthColor(metres) {
  if (metres === Infinity) return [12, 14, 22];
  return metres >= 0 ? depthRamp(metres / (metres + 12)) : [56, 16, 24];
}

// normalColor: the optical frame's y and z point down and away. They are turned, so that surfaces that face up
// are green and those that face the camera blue.
function normalColor(x, y, z) {
  if (Number.isNaN(x)) return [12, 14, 22];
  return [x, -y, -z].map((v) => Math.min(Math.max(v * 127.5 + 127.5, 0), 255));
}

// flowColor: the hue is where a pixel moves to, red for the right, and it is the stronger the faster.
function flowColor(x, y) {
  const length = Math.hypot(x, y);
  if (Number.isNaN(length)) return [12, 14, 22];
  const strength = length === Infinity ? 1 : length / (length + 0.01);
  const turn = Math.atan2(-y, x) / (2 * Math.PI);
  return hue(turn - Math.floor(turn)).map((c) => 255 * (1 - strength * (1 - c)));
}
