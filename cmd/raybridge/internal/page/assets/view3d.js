// The 3-D panel: its controls, the pointer, what is chosen, and the words where there is nothing to see.

import { Painter, bytesOfPoint, colorings, legible } from './gl.js';
import { Orbit, modes } from './orbit.js';
import { Scene, cloudType, sketchedTypes } from './scene3d.js';
import { idColor, tagName, tags } from './colors.js';
import { kinds } from './sketches.js';
import { check, choice, figure, fit, h, show, watchSight } from './elements.js';

const clickReach = 6; // pixels between a click and the point that it means

// keys of what the user chooses, as a link keeps them.
const defaults = { coloring: 'height', decay: 0, size: 2, grid: true, boxes: true, lights: false, frames: true, fields: false, hidden: '' };

export class View3D {
  constructor(panel, run, place) {
    this.run = run;
    this.place = place;
    this.look = { ...place.read('look', defaults) };
    if (!colorings.includes(this.look.coloring)) this.look.coloring = defaults.coloring;
    this.hidden = new Set(this.look.hidden ? this.look.hidden.split(' ') : []);
    this.heard = new Map(); // what ends listening, by a stream's name
    this.orbit = new Orbit();
    this.orbit.read(place.read('eye', ''));
    this.following = place.read('follow', 0); // an actor's id; the ego where that isn't there
    this.frames = 0;
    this.canvas = h('canvas', { class: 'scene', tabindex: '0', role: 'img', 'aria-label': '3-D view' });
    this.over = h('canvas', { class: 'over', 'aria-hidden': 'true' });
    this.words = h('div', { class: 'empty' });
    this.legend = h('div');
    this.whole = h('button', { onclick: () => run.link.thin(false), hidden: true }, 'show all');
    this.thin = h('button', { onclick: () => run.link.thin(true), hidden: true }, 'thin');
    this.foot = h('div', { class: 'legend', hidden: true }, this.legend, this.whole, this.thin);
    this.card = h('div', { class: 'card', hidden: true });
    this.layers = h('div', { class: 'menu' });
    panel.body.append(this.canvas, this.over, this.words, this.foot, this.card);
    panel.tools.append(...this.tools());
    try {
      this.scene = new Scene(new Painter(this.canvas), run);
    } catch (error) {
      this.broken = `The 3-D view can't be drawn: ${error.message}. Pictures, plots and tables work without. ` +
        'If WebGL2 is switched off, chrome://gpu or about:support says why.';
    }
    this.canvas.addEventListener('webglcontextlost', () => {
      this.broken = 'The browser lost its graphics context. Reload the page to draw again.';
      this.subscribe();
    });
    watchSight(this.canvas, (seen) => {
      this.seen = seen;
      this.subscribe();
    });
    this.listenToPointer();
    run.link.watch(() => this.subscribe());
    run.watch(() => { this.dirty = true; });
    run.link.picks.add((picked) => this.showFields(picked));
    this.themed();
  }

  tools() {
    this.modes = modes.map((mode) => h('button', { onclick: () => this.setMode(mode), title: `${mode} (${modes.indexOf(mode) + 1})` }, mode));
    this.coloring = choice('Colour points by', colorings, this.look.coloring, (v) => this.set('coloring', v));
    const decay = choice('Keep older points for', [[0, 'newest'], [0.5, '0.5 s'], [2, '2 s'], [10, '10 s']], this.look.decay, (v) => this.set('decay', Number(v)));
    const size = choice('Size of points', [[1, '1 px'], [2, '2 px'], [3, '3 px'], [5, '5 px']], this.look.size, (v) => this.set('size', Number(v)));
    const layers = h('details', { class: 'drop' }, h('summary', {}, 'layers'), this.layers);
    return [h('span', { class: 'group', role: 'group', 'aria-label': 'Camera' }, ...this.modes), this.coloring, decay, size, layers];
  }

  set(key, value) {
    this.look[key] = value;
    if (key === 'decay') this.scene?.fade(value);
    this.place.write('look', this.look, defaults);
    this.dirty = true;
    if (key === 'coloring') this.coloring.value = value;
  }

  setMode(mode) {
    this.orbit.set(mode);
    this.moved();
  }

  nextColoring() { this.set('coloring', colorings[(colorings.indexOf(this.look.coloring) + 1) % colorings.length]); }

  moved() {
    this.place.write('eye', this.orbit.text(), '');
    this.dirty = true;
  }

  themed() {
    const style = getComputedStyle(document.documentElement);
    const rgb = (name) => style.getPropertyValue(name).match(/\d+/g).map(Number); // of "rgb(11, 13, 17)"
    this.colors = { ground: rgb('--scene'), ink: rgb('--soft') };
    this.dirty = true;
  }

  // subscribe listens to each stream that can be drawn and isn't hidden, while the view can be seen.
  subscribe() {
    this.dirty = true;
    const drawn = this.run.ofType(cloudType, ...sketchedTypes);
    const listening = this.seen && !this.broken;
    for (const [name, end] of this.heard) {
      const shown = drawn.some((s) => s.name === name) && !this.hidden.has(name);
      if (shown && listening) continue;
      end();
      this.heard.delete(name);
      if (!shown) this.scene?.forget(name);
    }
    if (!this.scene) return;
    if (this.run.link.instance !== this.instance) this.scene.forget();
    this.instance = this.run.link.instance;
    for (const { name } of listening ? drawn : []) {
      if (this.heard.has(name) || this.hidden.has(name)) continue;
      this.heard.set(name, this.run.link.listen(name, (frame, stream) => {
        this.scene.take(frame, stream, this.look.decay);
        this.dirty = true;
      }));
    }
    const key = drawn.map((s) => s.name).join(' ');
    if (key !== this.listed) this.list(drawn);
    this.listed = key;
  }

  // list fills the menu of layers.
  list(drawn) {
    const own = [['grid', 'grid'], ['boxes', 'vehicles and walkers'], ['lights', 'traffic lights and signs'], ['frames', 'frames of sensors'], ['fields', 'fields of view']];
    this.layers.replaceChildren(
      ...own.map(([key, text]) => check(text, this.look[key], (on) => this.set(key, on))),
      ...drawn.map(({ name }) => check(name, !this.hidden.has(name), (on) => this.hide(name, !on))),
    );
  }

  hide(name, hidden) {
    if (hidden) this.hidden.add(name);
    else this.hidden.delete(name);
    this.set('hidden', [...this.hidden].join(' '));
    this.subscribe();
  }

  draw() {
    const resized = fit(this.canvas);
    fit(this.over);
    this.followed();
    if (!this.dirty && !resized) return;
    this.dirty = false;
    if (this.broken) {
      show(this.words, this.broken);
      this.foot.hidden = true;
      return;
    }
    if (this.canvas.width === 0 || this.canvas.height === 0) return;
    this.scene.draw({ ...this.size(), orbit: this.orbit, colors: this.colors, look: this.look });
    this.write();
    this.describe();
    this.canvas.dataset.frames = ++this.frames;
  }

  // followed takes along the eye with the actor that it follows: the chosen one, else the ego.
  followed() {
    const actor = this.run.actors.get(this.following) ?? this.run.ego;
    if (!actor || actor.pose === this.orbit.subject) return;
    const first = !this.met;
    this.met = true;
    this.orbit.subject = actor.pose;
    if (first && !this.orbit.kept) this.orbit.set(this.orbit.mode);
    this.dirty = true;
  }

  size() {
    return { width: this.canvas.width, height: this.canvas.height, ratio: window.devicePixelRatio || 1 };
  }

  // write puts names over the boxes.
  write() {
    const { width, height, ratio } = this.size();
    const pen = this.over.getContext('2d');
    pen.clearRect(0, 0, width, height);
    if (!this.look.boxes) return;
    const letters = 0.92 * parseFloat(getComputedStyle(this.canvas).fontSize) * ratio;
    pen.font = `${letters}px system-ui, sans-serif`;
    pen.textAlign = 'center';
    pen.lineWidth = 3 * ratio;
    pen.strokeStyle = `rgb(${this.colors.ground})`;
    const lowest = height - (this.foot.hidden ? 0 : this.foot.offsetHeight + 8) * ratio; // the legend is below
    const taken = []; // the ego's name and nearer ones hide those that would lie over them
    for (const { text, x, y, color } of this.scene.labels(this.orbit.eye())) {
      const at = [((x + 1) / 2) * width, ((1 - y) / 2) * height];
      const half = pen.measureText(text).width / 2 + 4 * ratio;
      if (at[1] > lowest || taken.some((t) => Math.abs(t.x - at[0]) < t.half + half && Math.abs(t.y - at[1]) < 1.2 * letters)) continue;
      taken.push({ x: at[0], y: at[1], half });
      pen.fillStyle = `rgb(${color})`;
      pen.strokeText(text, ...at);
      pen.fillText(text, ...at);
    }
  }

  // describe says how many points there are and what their colours mean, or why there is nothing.
  describe() {
    const newest = this.scene.newest();
    const points = newest.reduce((n, c) => n + c.count, 0);
    const total = newest.reduce((n, c) => n + c.frame.message.total, 0);
    this.canvas.dataset.points = points;
    this.canvas.setAttribute('aria-label', `3-D view, ${points} points of ${newest.length} lidars, ${this.run.actors.size} actors`);
    show(this.words, points > 0 ? '' : this.why());
    this.words.classList.toggle('low', this.run.actors.size > 0);
    const key = `${this.look.coloring} ${points} ${total} ${this.run.link.whole}`;
    this.foot.hidden = points === 0;
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.replaceChildren(h('span', {}, `${points.toLocaleString('en')} points`),
      ...(total > points ? [h('span', { class: 'warn' }, `thinned from ${total.toLocaleString('en')}`)] : []), ...this.scale());
    this.whole.hidden = total <= points;
    this.thin.hidden = !this.whole.hidden || !this.run.link.whole;
  }

  scale() {
    const ends = { intensity: ['dull', 'bright'], height: ['−0.5 m', '8 m'], ring: ['ring', ''], instance: ['instance', ''] }[this.look.coloring];
    if (ends) return [h('span', {}, ends[0]), h('i', { class: `ramp ${this.look.coloring}` }), h('span', {}, ends[1])];
    const byReturn = this.look.coloring === 'return';
    const present = new Set(this.scene.newest().flatMap(({ frame, count }) => {
      const { points } = frame.message;
      return Array.from({ length: Math.min(count, 400) }, (_, i) => points[Math.floor((i * count) / Math.min(count, 400)) * bytesOfPoint + (byReturn ? 9 : 8)]);
    }));
    if (byReturn) {
      return [...present].sort((a, b) => a - b).map((kind) => {
        const swatch = h('i', { class: 'swatch' });
        swatch.style.background = `rgb(${(kind === 0 ? [102, 102, 102] : idColor(kind)).map(Math.round)})`;
        return h('span', {}, swatch, kind === 0 ? 'one a firing' : `return ${kind}`);
      });
    }
    return [...present].sort((a, b) => a - b).slice(0, 10).map((tag) => {
      const swatch = h('i', { class: 'swatch' });
      swatch.style.background = `rgb(${legible(tags[tag % tags.length].slice(1))})`;
      return h('span', {}, swatch, tagName(tag));
    });
  }

  why() {
    const { phase } = this.run.link.state;
    if (phase !== 'open') return '';
    const lidars = this.run.ofType(cloudType);
    if (lidars.length === 0) return 'No sensor of this rig makes a cloud. Add a lidar in the panel Rig.';
    if (lidars.every((s) => this.hidden.has(s.name))) return 'All clouds are hidden: see "layers".';
    return this.run.waiting('cloud');
  }

  // Pointer: drag turns, with the right button or shift it moves, the wheel and two fingers zoom, a click picks.
  listenToPointer() {
    const held = new Map();
    let moved = 0;
    const spread = () => {
      const [a, b] = [...held.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    this.canvas.addEventListener('pointerdown', (e) => {
      this.canvas.setPointerCapture(e.pointerId);
      this.canvas.focus({ preventScroll: true });
      held.set(e.pointerId, { x: e.clientX, y: e.clientY });
      moved = 0;
    });
    this.canvas.addEventListener('pointermove', (e) => {
      const was = held.get(e.pointerId);
      if (!was) return;
      const [dx, dy] = [e.clientX - was.x, e.clientY - was.y];
      moved += Math.abs(dx) + Math.abs(dy);
      const before = held.size === 2 ? spread() : 0;
      held.set(e.pointerId, { x: e.clientX, y: e.clientY });
      if (held.size === 2) this.orbit.zoom(before / Math.max(spread(), 1));
      if (held.size === 2 || e.shiftKey || e.buttons & 2) this.orbit.move(dx / held.size, dy / held.size, this.canvas.clientHeight);
      else this.orbit.turn(dx, dy);
      this.moved();
    });
    const release = (e) => {
      if (held.delete(e.pointerId) && e.type === 'pointerup' && e.button === 0 && moved < 4) this.pick(e);
    };
    this.canvas.addEventListener('pointerup', release);
    this.canvas.addEventListener('pointercancel', release);
    this.canvas.addEventListener('contextmenu', (e) => e.preventDefault());
    this.canvas.addEventListener('wheel', (e) => {
      e.preventDefault();
      this.orbit.zoom(Math.exp(Math.min(Math.max(e.deltaY, -200), 200) * 0.002));
      this.moved();
    }, { passive: false });
  }

  // pick chooses the point under the pointer, else the actor whose box is there, else nothing.
  pick(event) {
    if (!this.scene?.matrix) return;
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    const view = this.size();
    const point = this.scene.pickPoint(x, y, view, clickReach * view.ratio);
    const actor = this.scene.pickActor(this.orbit.eye(), this.orbit.ray(x, y, view.width / view.height), this.look);
    if (point) {
      this.run.choose({ point });
      this.run.link.send({ pick: { stream: point.stream.id, number: point.frame.number, index: point.index } });
      this.fillCard(`point of ${point.stream.name}`, [['tag', tagName(point.tag)], ['map', point.position.map((v) => figure(v, 2)).join('  ')]]);
    } else this.chooseActor(actor ? actor.id : null);
  }

  // chooseActor marks an actor and shows what there is to it.
  chooseActor(id) {
    const actor = this.run.actors.get(id);
    this.run.choose(actor ? { actor: id } : null);
    if (!actor) {
      this.card.hidden = true;
      return;
    }
    const follow = h('button', { onclick: () => this.follow(id) }, 'follow');
    this.fillCard(this.run.nameOf(actor), [
      ['id', String(id)], ['type', actor.type_id], ['kind', kinds[actor.kind] ?? 'other'],
      ['speed', `${figure(Math.hypot(...actor.velocity), 2)} m/s`],
      ['place', actor.pose.position.map((v) => figure(v, 1)).join('  ')],
      ['size', actor.half.map((v) => figure(2 * v, 1)).join(' × ') + ' m'],
    ], follow);
  }

  follow(id) {
    this.following = id;
    this.place.write('follow', String(id), '0');
    if (this.orbit.mode === 'orbit') this.orbit.set('follow');
    this.moved();
  }

  // showFields shows a point's own fields, which the server keeps.
  showFields(picked) {
    const point = this.run.chosen?.point;
    if (!point || picked.stream !== point.stream.id || picked.index !== point.index) return;
    const fields = Object.entries(picked).filter(([key]) => !['stream', 'number', 'index'].includes(key));
    this.fillCard(`point of ${point.stream.name}`, fields.map(([key, v]) => {
      if (key === 'tag') return [key, `${tagName(v)} (${v})`];
      return [key.replace('_', ' '), Number.isInteger(v) ? String(v) : typeof v === 'number' ? figure(v, 3) : String(v)];
    }));
    const actor = this.run.actors.get(picked.instance);
    if (actor) this.card.append(h('button', { onclick: () => this.chooseActor(actor.id) }, this.run.nameOf(actor)));
  }

  fillCard(title, rows, ...more) {
    const close = h('button', { class: 'icon', 'aria-label': 'Close', onclick: () => this.chooseActor(null) }, '✕');
    this.card.replaceChildren(h('b', {}, title), close, h('dl', {}, ...rows.flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, v)])), ...more);
    this.card.hidden = false;
  }
}
