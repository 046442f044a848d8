// The eye of the 3-D view: it goes round a target, which stands still or goes along with an actor.

import { add, heading, looking, multiply, perspective, radians, scale, subtract } from './space.js';

const angle = 50 * radians;
const starts = {
  orbit: { yaw: 0, pitch: 0.45, distance: 45 },
  follow: { yaw: 0, pitch: 0.32, distance: 22 },
  top: { yaw: 0, pitch: Math.PI / 2 - 0.001, distance: 90 },
};

export const modes = Object.keys(starts);

export class Orbit {
  constructor() {
    this.subject = { position: [0, 0, 0], orientation: [0, 0, 0, 1] }; // the pose of the actor that is followed
    this.set('follow');
  }

  // set begins a mode where it begins.
  set(mode) {
    const from = this.target();
    Object.assign(this, { mode, shift: [0, 0, 0] }, starts[mode] ?? starts.orbit);
    this.standing = from;
    if (mode === 'orbit') this.yaw = heading(this.subject.orientation);
  }

  // target is the point in the middle, in the map. It stays where it is in mode orbit.
  target() {
    if (!this.mode) return [0, 0, 0];
    const base = this.mode === 'orbit' ? this.standing : add(this.subject.position, [0, 0, this.mode === 'follow' ? 1.2 : 0]);
    return add(base, this.shift);
  }

  // direction is the angle about z into which the eye looks: with the actor, in mode follow.
  direction() {
    return this.yaw + (this.mode === 'orbit' ? 0 : heading(this.subject.orientation));
  }

  forward() {
    const yaw = this.direction();
    const along = Math.cos(this.pitch);
    return [along * Math.cos(yaw), along * Math.sin(yaw), -Math.sin(this.pitch)];
  }

  eye() { return subtract(this.target(), scale(this.forward(), this.distance)); }

  // matrix turns points that count from an origin into the screen's.
  matrix(aspect, origin) {
    const far = Math.max(1500, this.distance * 4);
    const up = this.pitch > 1.5 ? [Math.cos(this.direction()), Math.sin(this.direction()), 0] : [0, 0, 1];
    return multiply(perspective(angle, aspect, Math.max(0.1, this.distance / 400), far), looking(subtract(this.eye(), origin), this.forward(), up));
  }

  // ray returns the direction of the ray through a place of the screen, x and y from -1 to 1.
  ray(x, y, aspect) {
    const half = Math.tan(angle / 2);
    const f = this.forward();
    const yaw = this.direction();
    const right = [Math.sin(yaw), -Math.cos(yaw), 0];
    const up = [Math.sin(this.pitch) * Math.cos(yaw), Math.sin(this.pitch) * Math.sin(yaw), Math.cos(this.pitch)];
    return add(f, add(scale(right, x * half * aspect), scale(up, y * half)));
  }

  turn(dx, dy) {
    this.yaw -= dx * 0.006;
    if (this.mode !== 'top') this.pitch = Math.min(Math.max(this.pitch + dy * 0.006, -0.3), 1.5);
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(this.distance * factor, 1), 3000);
  }

  // move shifts the target so that the ground goes with the pointer, by pixels of a view so many pixels high.
  move(dx, dy, height) {
    const perPixel = (2 * Math.tan(angle / 2) * this.distance) / height;
    const yaw = this.direction();
    const right = [Math.sin(yaw), -Math.cos(yaw), 0];
    const ahead = [Math.cos(yaw), Math.sin(yaw), 0];
    this.shift = add(this.shift, add(scale(right, -dx * perPixel), scale(ahead, dy * perPixel / Math.max(Math.sin(this.pitch), 0.3))));
  }

  // text and read keep the view in a link.
  text() {
    const numbers = [this.yaw, this.pitch, this.distance, ...this.shift, ...(this.mode === 'orbit' ? this.standing : [])];
    return [this.mode, ...numbers.map((n) => Number(n.toFixed(3)))].join(',');
  }

  read(text) {
    const [mode, ...rest] = text.split(',');
    const n = rest.map(Number);
    if (!modes.includes(mode) || n.length < 6 || !n.every(Number.isFinite)) return;
    this.set(mode);
    [this.yaw, this.pitch, this.distance] = n;
    this.shift = n.slice(3, 6);
    if (mode === 'orbit' && n.length === 9) this.standing = n.slice(6);
    this.kept = true;
  }
}
