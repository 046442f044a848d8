// The newest message of a topic, field by field, as its definition has it. A number can be plotted.

import { choice, h, show } from './elements.js';

const longest = 8; // elements of a sequence that are shown

export class MessagePanel {
  constructor(run, place, plot) {
    this.run = run;
    this.place = place;
    this.plot = plot;
    this.topic = place.read('topic', '');
    this.tree = h('div', { class: 'fields' });
    this.tools = [];
    this.element = h('div', {}, this.tree);
    run.link.watch(() => this.update());
  }

  choose(topic) {
    this.topic = topic;
    this.place.write('topic', topic, '');
    this.update();
  }

  shown(visible) {
    this.visible = visible;
    this.update();
  }

  update() {
    const names = [...this.run.link.streams.keys()].sort();
    const key = `${this.visible} ${this.topic} ${names} ${this.run.link.instance}`;
    if (key === this.key) return;
    this.key = key;
    this.unheard?.();
    this.unheard = null;
    this.tree.replaceChildren();
    this.shape = '';
    this.frame = null; // of the topic before
    this.dirty = false;
    const list = choice('Topic', [['', 'choose a topic'], ...names], this.topic, (name) => this.choose(name));
    this.element.replaceChildren(h('div', { class: 'form' }, list), this.tree);
    if (!this.visible || !this.topic) return;
    this.tree.textContent = 'waiting for a message';
    this.unheard = this.run.link.listen(this.topic, (frame) => {
      this.frame = frame;
      this.dirty = true;
    });
  }

  draw() {
    // Twenty times a second is more than can be read.
    if (!this.dirty || !this.visible || performance.now() - (this.drawn ?? 0) < 100) return;
    this.dirty = false;
    this.drawn = performance.now();
    const { sequence, frame, stamp, published, frameId, picture, message, bytes } = this.frame;
    const about = { sequence, frame, stamp, published, frame_id: frameId, bytes };
    const body = message ?? { width: picture.width, height: picture.height, encoding: picture.encoding };
    this.show([...this.rows(about, '', true), { depth: 0, key: '' }, ...this.rows(body, '')]);
  }

  // show writes fields. Where they are those of before only their values change: a button that is pressed stays where it is.
  show(fields) {
    const shape = fields.map(({ depth, key, plotted }) => `${depth} ${key} ${plotted ?? ''}`).join('\n');
    if (shape !== this.shape) {
      this.shape = shape;
      this.values = fields.map(() => h('span', { class: 'v' }));
      this.tree.replaceChildren(...fields.map((f, i) => (f.key === '' ? h('hr') : this.row(f, this.values[i]))));
    }
    fields.forEach((f, i) => show(this.values[i], f.value ?? ''));
  }

  row({ depth, key, plotted }, value) {
    const row = h('div', { class: 'field' }, h('span', { class: 'soft' }, key), value);
    row.style.setProperty('--depth', depth);
    if (plotted) row.append(h('button', { class: 'as-link', onclick: () => this.plot(this.topic, plotted) }, 'plot'));
    return row;
  }

  // rows returns an object's fields as they are shown; plotted is the path of a number that a plot can show.
  rows(object, path, plain = false) {
    return Object.entries(object).flatMap(([key, value]) => {
      const at = path ? `${path}.${key}` : key;
      const depth = at.split('.').length - 1;
      if (value !== null && typeof value === 'object') {
        if (!ArrayBuffer.isView(value) && !Array.isArray(value)) return [{ depth, key }, ...this.rows(value, at, plain)];
        const few = Array.from(value.slice(0, longest));
        const count = `[${value.length}]`;
        if (few.length === 0 || typeof few[0] !== 'object') return [{ depth, key, value: `${count} ${few.map(told).join(' ')}${value.length > longest ? ' …' : ''}` }];
        return [{ depth, key, value: count }, ...few.slice(0, 3).flatMap((v, i) => this.rows({ [i]: v }, at, true))];
      }
      return [{ depth, key, value: told(value), plotted: !plain && typeof value === 'number' ? at : undefined }];
    });
  }
}

function told(value) {
  return typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(7))) : String(value);
}
