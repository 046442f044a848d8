// Plots over the last half minute: speed, IMU, real-time factor, rates, latency by stage, and any field of a message.

import { figure, fit, h } from './elements.js';

const span = 30; // seconds
const mostSamples = 4000; // of one line
const nothing = 1e-9; // values below that are noise of the computation
const credits = 32; // messages that may be on their way: a plot wants each of them
const lineColors = ['--accent', '--red', '--green', '--blue', '--soft'];

// Plot is one diagram with lines of samples [time, value].
class Plot {
  constructor(title, unit, clock, remove) {
    this.lines = new Map();
    this.clock = clock;
    this.canvas = h('canvas', { role: 'img', 'aria-label': title });
    this.values = h('span', { class: 'values' });
    this.title = title;
    this.unit = unit;
    const head = h('figcaption', {}, h('b', {}, title), this.values);
    if (remove) head.append(h('button', { class: 'icon', 'aria-label': `Remove ${title}`, onclick: remove }, '✕'));
    this.element = h('figure', { class: 'plot' }, head, this.canvas);
    this.canvas.addEventListener('pointermove', (e) => this.point(e.offsetX / this.canvas.clientWidth));
    this.canvas.addEventListener('pointerleave', () => this.point(null));
  }

  add(name, time, value) {
    if (!Number.isFinite(value)) return;
    if (!this.lines.has(name)) this.lines.set(name, []);
    const line = this.lines.get(name);
    line.push([time, value]);
    while (line[0][0] < time - span || line.length > mostSamples) line.shift();
    // Of a sensor that is gone the line would shift everything for good.
    for (const [other, samples] of this.lines) if (samples.at(-1)[0] < time - span) this.lines.delete(other);
    this.dirty = true;
  }

  clear() {
    this.lines.clear();
    this.dirty = true;
  }

  point(share) {
    this.pointed = share;
    this.dirty = true;
  }

  draw(style) {
    if (fit(this.canvas)) this.dirty = true;
    if (!this.dirty || this.canvas.width === 0) return;
    this.dirty = false;
    const ratio = window.devicePixelRatio || 1;
    const letters = 0.85 * parseFloat(style.fontSize) * ratio;
    const { width, height } = this.canvas;
    const pen = this.canvas.getContext('2d');
    pen.clearRect(0, 0, width, height);
    const all = [...this.lines.values()].flat();
    if (all.length === 0) {
      this.values.replaceChildren();
      this.canvas.setAttribute('aria-label', `${this.title}: no data yet`);
      pen.fillStyle = style.getPropertyValue('--soft');
      pen.font = `${letters}px system-ui, sans-serif`;
      pen.fillText('no data yet', 8 * ratio, height / 2);
      return;
    }
    const end = Math.max(...[...this.lines.values()].map((l) => l.at(-1)[0]));
    const [low, high] = bounds(all);
    const x = (t) => width * (1 - (end - t) / span);
    const y = (v) => height - 3 * ratio - ((v - low) / (high - low)) * (height - 6 * ratio);
    pen.lineWidth = ratio;
    pen.strokeStyle = style.getPropertyValue('--line');
    pen.fillStyle = style.getPropertyValue('--soft');
    pen.font = `${letters}px system-ui, sans-serif`;
    for (const v of ticks(low, high)) {
      pen.beginPath();
      pen.moveTo(0, y(v));
      pen.lineTo(width, y(v));
      pen.stroke();
      pen.fillText(String(Number(v.toPrecision(4))), 3 * ratio, y(v) > 1.2 * letters ? y(v) - 2 * ratio : y(v) + letters); // below where there is no room above
    }
    const when = this.pointed == null ? end : end - span * (1 - this.pointed);
    const texts = [];
    [...this.lines].forEach(([name, line], i) => {
      const color = style.getPropertyValue(lineColors[i % lineColors.length]);
      pen.strokeStyle = color;
      pen.lineWidth = 1.25 * ratio;
      pen.beginPath();
      for (const [t, v] of line) pen.lineTo(x(t), y(v));
      pen.stroke();
      const sample = line.findLast(([t]) => t <= when) ?? line[0];
      const text = h('span', {}, `${name} ${rounded(sample[1])}`);
      text.style.color = color;
      texts.push(text);
    });
    if (this.pointed != null) {
      pen.strokeStyle = style.getPropertyValue('--soft');
      pen.beginPath();
      pen.moveTo(x(when), 0);
      pen.lineTo(x(when), height);
      pen.stroke();
    }
    this.values.replaceChildren(...texts, h('span', { class: 'soft' }, this.unit));
    this.canvas.setAttribute('aria-label', `${this.title}: ${texts.map((t) => t.textContent).join(', ')} ${this.unit}`);
  }
}

// rounded is a value in a legend, with three digits or more.
function rounded(value) {
  const size = Math.abs(value);
  return figure(value, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function bounds(samples) {
  let [low, high] = [Infinity, -Infinity];
  for (const [, v] of samples) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (low > 0 && low < high / 2) low = 0;
  // What hardly changes is shown as such: a line, and no hills of noise.
  const margin = Math.max((high - low) * 0.08, (Math.abs(high) * 0.1 - (high - low)) / 2, Math.max(-low, high) < nothing ? 1 : 1e-6);
  return [low === 0 ? 0 : low - margin, high + margin];
}

// ticks are two to four round values between two.
function ticks(low, high) {
  const raw = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const list = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) list.push(v);
  return list;
}

export class Plots {
  constructor(run, place) {
    this.run = run;
    this.place = place;
    this.grid = h('div', { class: 'plots' });
    this.rows = h('tbody');
    this.table = h('table', { class: 'stages', hidden: true }, h('caption', {}, 'Latency by stage'), h('thead', {}, h('tr', {},
      ...['sensor', 'stage', 'bridge', 'timed', 'median ms', '99 % ms'].map((t) => h('th', {}, t)))), this.rows);
    this.element = h('div', {}, this.grid, this.table);
    this.own = new Map(); // plots of fields, by "topic field": {plot, unheard}
    this.speed = this.make('speed', 'm/s');
    this.acceleration = this.make('acceleration', 'm/s²');
    this.turning = this.make('turning', 'rad/s');
    this.factor = this.make('real-time factor', '');
    this.rates = this.make('rates', 'Hz');
    this.stages = this.make('latency by stage', 'ms');
    this.stages.element.title = 'The median of each stage, for the sensor for which it is the longest';
    run.sampled.add((status, before) => this.sample(status, before));
    run.link.watch(() => this.follow());
    run.begun.add(() => this.all().forEach((plot) => plot.clear()));
    this.kept = place.read('plots', []).filter((key) => /^\S+ \S+$/.test(key)); // "topic field"
    this.kept.forEach((key) => this.plotField(key));
  }

  make(title, unit, remove) {
    const plot = new Plot(title, unit, this.run, remove);
    this.grid.append(plot.element);
    return plot;
  }

  // add plots a field of a topic's messages from now on.
  add(topic, field) {
    const key = `${topic} ${field}`;
    if (this.own.has(key)) return;
    this.kept.push(key);
    this.place.write('plots', this.kept);
    this.plotField(key);
  }

  plotField(key) {
    const [topic, field] = key.split(' ');
    const plot = this.make(`${topic} ${field}`, '', () => {
      this.own.get(key).unheard?.();
      this.own.delete(key);
      plot.element.remove();
      this.kept = this.kept.filter((k) => k !== key);
      this.place.write('plots', this.kept);
    });
    this.own.set(key, { plot, topic, path: field.split('.') });
    this.follow();
  }

  // follow listens to what the plots show, while they are seen.
  follow() {
    const imu = this.visible ? this.run.ofType('sensor_msgs/msg/Imu')[0]?.name : undefined;
    if (imu !== this.imuName) {
      this.unheardImu?.();
      this.imuName = imu;
      this.unheardImu = imu && this.run.link.listen(imu, ({ stamp, message }) => {
        for (const axis of ['x', 'y', 'z']) {
          this.acceleration.add(axis, stamp, message.linear_acceleration[axis]);
          this.turning.add(axis, stamp, message.angular_velocity[axis]);
        }
      }, credits);
    }
    for (const own of this.own.values()) {
      if (this.visible === Boolean(own.unheard)) continue;
      own.unheard?.();
      own.unheard = this.visible ? this.run.link.listen(own.topic, ({ stamp, message }) => {
        const value = own.path.reduce((o, name) => o?.[name], message);
        own.plot.add(own.path.at(-1), stamp, value);
      }, credits) : null;
    }
  }

  shown(visible) {
    this.visible = visible;
    this.follow();
  }

  sample(status, before) {
    const now = status.time.sec + status.time.nanosec / 1e9;
    const [wall, simulated] = before ? [status.wall_s - before.wall_s, status.sim_s - before.sim_s] : [0, 0];
    if (wall > 0) this.factor.add('factor', now, simulated / wall);
    const past = new Map(before?.sensors.map((s) => [s.topic, s.messages]));
    if (simulated > 0) {
      const told = new Set();
      for (const s of status.sensors) { // of each sensor its first output
        if (s.type === 'clock' || !s.topic || s.idle || !s.rate_wanted_hz || told.has(s.name) || told.size === lineColors.length) continue;
        told.add(s.name);
        this.rates.add(s.name, now, (s.messages - (past.get(s.topic) ?? s.messages)) / simulated);
      }
    }
    const slowest = new Map();
    for (const s of status.stages ?? []) slowest.set(s.stage, Math.max(slowest.get(s.stage) ?? 0, s.p50_ms));
    for (const [stage, ms] of slowest) this.stages.add(stage, now, ms);
    this.stages.element.hidden = slowest.size === 0;
    if (!this.visible) return;
    this.table.hidden = slowest.size === 0;
    this.rows.replaceChildren(...(status.stages ?? []).map((s) => h('tr', {}, h('td', {}, s.sensor), h('td', {}, s.stage), h('td', { class: 'soft' }, s.bridge ?? ''),
      h('td', { class: 'n' }, s.timed.toLocaleString('en')), h('td', { class: 'n' }, figure(s.p50_ms, 2)), h('td', { class: 'n' }, figure(s.p99_ms, 2)))));
  }

  draw() {
    const { ego, stamp } = this.run;
    if (ego && ego.pose !== this.last) this.speed.add('ego', stamp, Math.hypot(...ego.velocity));
    this.last = ego?.pose;
    if (!this.visible) return;
    const style = getComputedStyle(document.documentElement);
    for (const plot of this.all()) plot.draw(style);
  }

  all() { return [this.speed, this.acceleration, this.turning, this.factor, this.rates, this.stages, ...[...this.own.values()].map(({ plot }) => plot)]; }
}
