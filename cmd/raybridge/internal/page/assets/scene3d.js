// What the 3-D view shows, drawn from the newest messages of the streams that are shown.

import { Sketch, bytesOfPoint, colorings } from './gl.js';
import { actorColor, drawActor, drawField, drawFrame, drawGrid, drawMarks, drawObjects, drawRadar, drawScan } from './sketches.js';
import { add, at, dot, multiply, placing, project, rotate, subtract, within } from './space.js';

export const cloudType = 'raybridge_msgs/msg/ViewCloud';
export const marksType = 'raybridge_msgs/msg/LaneMarks';

const accent = [255, 196, 61];
const mostPoints = 4e6; // of all clouds that decay, so that a page's memory is bounded

// sketched are the other types that are drawn, each from its newest message.
const sketched = {
  'raybridge_msgs/msg/Radar': (lines, pose, m) => drawRadar(lines, pose, m),
  'raybridge_msgs/msg/RadarObjects': (lines, pose, m) => drawObjects(lines, pose, m.objects, [255, 120, 120]),
  'raybridge_msgs/msg/Detections3D': (lines, pose, m) => drawObjects(lines, pose, m.boxes, [255, 196, 61]),
  'sensor_msgs/msg/LaserScan': (lines, pose, m) => drawScan(lines, pose, m),
  [marksType]: (lines, pose, m, place) => drawMarks(lines, m, place),
};

export const sketchedTypes = Object.keys(sketched);

export class Scene {
  constructor(painter, run) {
    this.painter = painter;
    this.run = run;
    this.clouds = new Map(); // by stream: newest last, {handle, count, frame, stream}
    this.messages = new Map(); // by stream, of the types above
    this.spare = []; // buffers of clouds that are gone
    this.lines = new Sketch();
    this.fills = new Sketch();
  }

  // take keeps a message of one of the types above; decay is how many seconds older clouds stay.
  take(frame, stream, decay) {
    if (stream.type !== cloudType) {
      this.messages.set(stream.name, { frame, stream });
      return;
    }
    const list = this.clouds.get(stream.name) ?? [];
    this.clouds.set(stream.name, list);
    const last = list.at(-1);
    if (last && frame.stamp < last.frame.stamp) this.drop(list, list.length); // the run was reset
    let points = this.points() + frame.message.points.length / bytesOfPoint;
    const old = list.findIndex((c) => frame.stamp - c.frame.stamp < decay);
    let gone = old < 0 || decay === 0 ? list.length : old;
    while (gone < list.length && points > mostPoints) points -= list[gone++].count;
    this.drop(list, gone);
    const count = Math.floor(frame.message.points.length / bytesOfPoint);
    list.push({ handle: this.painter.upload(frame.message.points, this.spare.pop()), count, frame, stream });
  }

  // fade drops the clouds that are older than the newest of their stream by so many seconds.
  fade(decay) {
    for (const list of this.clouds.values()) this.drop(list, list.findIndex((c) => c === list.at(-1) || list.at(-1).frame.stamp - c.frame.stamp < decay));
  }

  drop(list, n) {
    for (const cloud of list.splice(0, n)) {
      if (this.spare.length < 4) this.spare.push(cloud.handle);
      else this.painter.forget(cloud.handle);
    }
  }

  // forget takes a stream, or all streams, out of the view.
  forget(name) {
    for (const [key, list] of this.clouds) {
      if (name !== undefined && key !== name) continue;
      this.drop(list, list.length);
      this.clouds.delete(key);
    }
    if (name === undefined) this.messages.clear();
    else this.messages.delete(name);
  }

  points() {
    let n = 0;
    for (const list of this.clouds.values()) for (const cloud of list) n += cloud.count;
    return n;
  }

  newest() { return [...this.clouds.values()].map((list) => list.at(-1)).filter(Boolean); }

  // draw draws all. view is {orbit, width, height, ratio, colors, look}: look is what the user has chosen.
  draw(view) {
    const { orbit, look, colors } = view;
    const ego = this.run.ego;
    this.origin = orbit.target().map(Math.round);
    this.matrix = orbit.matrix(view.width / view.height, this.origin);
    this.painter.begin(view.width, view.height, colors.ground);
    const ground = ego ? ego.pose.position[2] : 0;
    for (const list of this.clouds.values()) {
      list.forEach((cloud, i) => this.drawCloud(cloud, i === list.length - 1 ? 1 : 0.5, view, ground));
    }
    this.lines.begin(this.origin);
    this.fills.begin(this.origin);
    const place = ego ? ego.pose.position : orbit.target();
    if (look.grid) drawGrid(this.lines, [place[0], place[1], ground], colors.ink);
    for (const { frame, stream } of this.messages.values()) {
      const pose = frame.pose ?? { position: [0, 0, 0], orientation: [0, 0, 0, 1] };
      sketched[stream.type](this.lines, pose, frame.message, place);
    }
    this.drawActors(look);
    this.drawSensors(look, colors);
    this.painter.drawSketch(this.lines, this.matrix, false);
    this.painter.drawSketch(this.fills, this.matrix, true);
  }

  drawCloud(cloud, fade, { look, ratio }, ground) {
    const pose = cloud.frame.pose;
    if (!pose) return; // without it nobody knows where it is
    const up = [0, 1, 2].map((i) => rotate(pose.orientation, [Number(i === 0), Number(i === 1), Number(i === 2)])[2]);
    this.painter.drawCloud(cloud.handle, cloud.count, {
      toScreen: multiply(this.matrix, placing(pose, this.origin)),
      origin: cloud.frame.message.origin,
      size: cloud.frame.message.size,
      height: [...up, pose.position[2] - ground],
      by: colorings.indexOf(look.coloring),
      pixels: look.size * ratio,
      fade,
    });
  }

  drawActors(look) {
    const chosen = this.run.chosen?.actor;
    for (const actor of this.run.actors.values()) {
      if (actor.id === chosen || (actor.kind > 2 ? look.lights : look.boxes)) {
        drawActor(this.lines, this.fills, actor, actor.id === chosen ? accent : null);
      }
    }
  }

  drawSensors(look, colors) {
    if (!look.frames && !look.fields) return;
    for (const sensor of this.run.sensors) {
      const pose = this.run.poseOf(sensor);
      if (!pose) continue;
      if (look.frames) drawFrame(this.lines, pose, 0.4);
      if (look.fields && sensor.fov) drawField(this.lines, pose, sensor.fov, colors.ink);
    }
  }

  // screen returns where a point of the map is on the view: x and y from -1 to 1, and its depth.
  screen(p) { return project(this.matrix, subtract(p, this.origin)); }

  // pickPoint returns the point of the newest clouds nearest to a place on the view, within a reach in pixels.
  pickPoint(x, y, view, reach) {
    let best = null;
    let nearest = reach;
    for (const { frame, stream, count } of this.newest()) {
      if (!frame.pose) continue;
      const m = multiply(this.matrix, placing(frame.pose, this.origin));
      const { origin, size, points } = frame.message;
      const bytes = new DataView(points.buffer, points.byteOffset, points.byteLength);
      const local = [0, 0, 0];
      for (let i = 0; i < count; i++) {
        for (let k = 0; k < 3; k++) local[k] = origin[k] + (size[k] * bytes.getUint16(i * bytesOfPoint + 2 * k, true)) / 65535;
        const [px, py, depth] = project(m, local);
        if (depth <= 0) continue;
        const away = Math.hypot(((px - x) * view.width) / 2, ((py - y) * view.height) / 2);
        if (away >= nearest) continue;
        nearest = away;
        best = { stream, frame, index: i * frame.message.step, position: at(frame.pose, local), tag: bytes.getUint8(i * bytesOfPoint + 8) };
      }
    }
    return best;
  }

  // pickActor returns the nearest actor whose box a ray from the eye hits.
  pickActor(eye, ray, look) {
    let best = null;
    let nearest = Infinity;
    for (const actor of this.run.actors.values()) {
      if (!(actor.kind > 2 ? look.lights : look.boxes)) continue;
      const distance = meets(actor, eye, ray);
      if (distance >= nearest) continue;
      nearest = distance;
      best = actor;
    }
    return best;
  }

  // labels returns the names to write, those that matter most first: of actors in sight, {text, x, y, color}.
  labels(eye) {
    const list = [];
    for (const actor of this.run.actors.values()) {
      if (actor.kind > 2 && actor.id !== this.run.chosen?.actor) continue;
      const top = at(actor.pose, add(actor.centre, [0, 0, actor.half[2] + 0.3]));
      const [x, y, depth] = this.screen(top);
      const away = Math.hypot(...subtract(top, eye));
      if (depth <= 0 || Math.abs(x) > 1 || Math.abs(y) > 1 || away > 90) continue;
      list.push({ text: this.run.nameOf(actor), x, y, away: actor.id === 0 ? 0 : away, color: actor.id === this.run.chosen?.actor ? accent : actorColor(actor) });
    }
    return list.sort((a, b) => a.away - b.away).slice(0, 40);
  }
}

// meets returns how far along a ray an actor's box begins, Infinity where they don't meet: the method of slabs.
function meets(actor, eye, ray) {
  const from = subtract(within(actor.pose, eye), actor.centre);
  const along = within({ position: [0, 0, 0], orientation: actor.pose.orientation }, ray);
  let [near, far] = [0, Infinity];
  for (let k = 0; k < 3; k++) {
    const [a, b] = [(-actor.half[k] - from[k]) / along[k], (actor.half[k] - from[k]) / along[k]];
    near = Math.max(near, Math.min(a, b));
    far = Math.min(far, Math.max(a, b));
  }
  return near <= far && dot(actor.half, [1, 1, 1]) > 0 ? near : Infinity;
}
