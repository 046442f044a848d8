// What the 3-D view draws as lines and faces: the grid, frames, fields of view, boxes, lane marks, radar, scans.

import { add, at, carried, corners, edges, faces, poseOf, radians, rotate, scale } from './space.js';

// Kinds of actors by their numbers in a snapshot.
export const kinds = ['other', 'vehicle', 'walker', 'traffic light', 'traffic sign'];

const kindColors = [[150, 158, 170], [92, 160, 255], [255, 176, 72], [120, 200, 120], [150, 158, 170]];
const signalColors = [[235, 80, 70], [245, 200, 60], [80, 200, 110], [150, 158, 170], [150, 158, 170]];
const egoColor = [240, 244, 250];
const axes = [[235, 84, 84], [104, 200, 96], [84, 140, 245]];
const markColors = [[225, 228, 232], [92, 160, 255], [80, 200, 110], [235, 80, 70], [240, 200, 70], [170, 175, 182]];
const brokenMarks = new Set([1, 6]);
const kerb = 9;
const farthestMark = 120; // metres

// drawGrid draws squares of 10 m around a place, on its height. They fade away from it.
export function drawGrid(lines, [x, y, z], ink) {
  const step = 10;
  const reach = 120;
  const [cx, cy] = [Math.round(x / step) * step, Math.round(y / step) * step];
  const alpha = (d) => Math.round(95 * Math.max(0, 1 - d / reach));
  for (let i = -reach; i <= reach; i += step) {
    for (let j = -reach; j < reach; j += 2 * step) {
      const ends = [j, j + step, j + 2 * step];
      for (let k = 0; k < 2; k++) {
        const [a, b] = [ends[k], ends[k + 1]];
        lines.put([cx + i, cy + a, z], [...ink, alpha(Math.hypot(i, a))]);
        lines.put([cx + i, cy + b, z], [...ink, alpha(Math.hypot(i, b))]);
        lines.put([cx + a, cy + i, z], [...ink, alpha(Math.hypot(i, a))]);
        lines.put([cx + b, cy + i, z], [...ink, alpha(Math.hypot(i, b))]);
      }
    }
  }
}

// drawFrame draws a pose's axes: x red, y green, z blue.
export function drawFrame(lines, pose, size) {
  axes.forEach((color, i) => {
    const tip = [0, 0, 0];
    tip[i] = size;
    lines.line(pose.position, at(pose, tip), [...color, 255]);
  });
}

// drawField draws what a sensor can see: a camera's pyramid, or the upper and lower edge of a lidar.
export function drawField(lines, pose, fov, color) {
  const { horizontal = 0, vertical, lower, upper, range } = fov;
  if (vertical) {
    const tip = (x, y) => at(pose, [3, 3 * x * Math.tan((horizontal / 2) * radians), 3 * y * Math.tan((vertical / 2) * radians)]);
    const ends = [tip(-1, -1), tip(1, -1), tip(1, 1), tip(-1, 1)];
    ends.forEach((end, i) => {
      lines.line(pose.position, end, [...color, 150]);
      lines.line(end, ends[(i + 1) % 4], [...color, 150]);
    });
    return;
  }
  if (lower === undefined) return;
  const reach = Math.min(range || 8, 8);
  const pieces = 48;
  for (const elevation of [lower, upper]) {
    const rim = (i) => {
      const azimuth = (i / pieces - 0.5) * horizontal * radians;
      const flat = reach * Math.cos(elevation * radians);
      return at(pose, [flat * Math.cos(azimuth), flat * Math.sin(azimuth), reach * Math.sin(elevation * radians)]);
    };
    for (let i = 0; i < pieces; i++) lines.line(rim(i), rim(i + 1), [...color, 90]);
  }
}

// Actor boxes. An actor is one of a snapshot, with pose and box read.

export function actorColor(actor) {
  if (actor.id === 0) return egoColor;
  return actor.kind === 3 ? signalColors[actor.signal] ?? kindColors[3] : kindColors[actor.kind] ?? kindColors[0];
}

export function drawActor(lines, fills, actor, chosen) {
  const color = chosen ?? actorColor(actor);
  drawBox(lines, corners(actor.pose, actor.centre, actor.half), [...color, actor.kind > 2 ? 120 : 255]);
  if (actor.kind > 2) return;
  fill(fills, corners(actor.pose, actor.centre, actor.half), [...color, chosen ? 60 : 24]);
  if (actor.id !== 0 && actor.kind !== 1) return;
  const [x, , z] = actor.half; // an arrow on the ground says which way it goes
  const tip = at(actor.pose, add(actor.centre, [x + 1.2, 0, -z]));
  for (const side of [-0.5, 0.5]) lines.line(at(actor.pose, add(actor.centre, [x + 0.3, side, -z])), tip, [...color, 255]);
}

function drawBox(lines, points, color) {
  for (const [a, b] of edges) lines.line(points[a], points[b], color);
}

function fill(fills, points, color) {
  for (const face of faces) for (const i of face) fills.put(points[i], color);
}

// drawMarks draws the world's lane marks, which are in the map. They fade away from a place.
export function drawMarks(lines, { marks }, [x, y]) {
  for (const mark of marks) {
    const color = markColors[mark.color] ?? markColors[5];
    const strength = mark.type === kerb ? 90 : brokenMarks.has(mark.type) ? 130 : 200;
    const points = mark.points.map((p) => [p.x, p.y, p.z + 0.02]);
    const faded = points.map((p) => strength * Math.max(0, 1 - Math.hypot(p[0] - x, p[1] - y) / farthestMark));
    for (let i = 1; i < points.length; i++) {
      if (faded[i - 1] + faded[i] === 0) continue;
      lines.put(points[i - 1], [...color, faded[i - 1]]);
      lines.put(points[i], [...color, faded[i]]);
    }
  }
}

// drawRadar draws each detection with where it will be in half a second by its radial velocity: red comes nearer.
export function drawRadar(lines, pose, { detections }) {
  for (const d of detections) {
    const along = Math.cos(d.altitude);
    const ray = [along * Math.cos(d.azimuth), along * Math.sin(d.azimuth), Math.sin(d.altitude)];
    const color = d.velocity < -0.1 ? [255, 92, 92, 255] : d.velocity > 0.1 ? [96, 160, 255, 255] : [200, 205, 212, 255];
    const p = at(pose, scale(ray, d.depth));
    drawCross(lines, p, 0.25, color);
    lines.line(p, at(pose, scale(ray, d.depth + d.velocity / 2)), color);
  }
}

// drawObjects draws boxes of a sensor: of radar objects, with their velocities, or of detections.
export function drawObjects(lines, pose, boxes, color) {
  for (const box of boxes) {
    const { x, y, z } = box.size;
    const placed = box.pose ? carried(pose, poseOf(box.pose)) : carried(pose, { position: xyz(box.position), orientation: [0, 0, 0, 1] });
    drawBox(lines, corners(placed, [0, 0, 0], [x / 2, y / 2, z / 2]), [...color, 220]);
    if (box.velocity) lines.line(placed.position, add(placed.position, scale(rotate(pose.orientation, xyz(box.velocity)), 0.5)), [...color, 255]);
  }
}

const xyz = (v) => [v.x, v.y, v.z];

// drawScan draws the returns of a planar scan.
export function drawScan(lines, pose, scan) {
  for (let i = 0; i < scan.ranges.length; i++) {
    const range = scan.ranges[i];
    if (!(range >= scan.range_min && range <= scan.range_max)) continue;
    const angle = scan.angle_min + i * scan.angle_increment;
    drawCross(lines, at(pose, [range * Math.cos(angle), range * Math.sin(angle), 0]), 0.06, [255, 214, 102, 255]);
  }
}

function drawCross(lines, p, half, color) {
  for (let i = 0; i < 3; i++) {
    const d = [0, 0, 0];
    d[i] = half;
    lines.line(add(p, scale(d, -1)), add(p, d), color);
  }
}
