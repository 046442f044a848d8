// The rig: every sensor with its mounting and attributes. Those that are live change here, while the run goes on.

import { figure, h } from './elements.js';

export class Rig {
  constructor(run, place) {
    this.run = run;
    this.place = place;
    this.name = place.read('sensor', '');
    this.list = h('div', { class: 'list', role: 'listbox', 'aria-label': 'Sensors' });
    this.detail = h('div', { class: 'detail' });
    this.element = h('div', { class: 'split' }, h('div', {}, this.list, this.adder()), this.detail);
    run.watch(() => this.update());
  }

  shown(visible) {
    this.visible = visible;
    if (visible) this.run.readSensors();
    this.update();
  }

  // update draws anew only what has changed: somebody may be typing.
  update() {
    if (!this.visible) return;
    const key = JSON.stringify([this.name, this.run.sensors]);
    if (key === this.key) return;
    this.key = key;
    const { sensors } = this.run;
    const chosen = sensors.find((s) => s.name === this.name) ?? sensors[0];
    this.list.replaceChildren(...sensors.map((s) => h('button', {
      role: 'option', 'aria-selected': String(s === chosen), onclick: () => this.choose(s.name),
    }, h('b', {}, s.name), h('span', { class: 'soft' }, s.type.replace('sensor.', '')))));
    const focused = document.activeElement?.closest('.detail') && document.activeElement.dataset.attribute;
    if (chosen) this.detail.replaceChildren(...this.describe(chosen));
    if (focused) [...this.detail.querySelectorAll('[data-attribute]')].find((e) => e.dataset.attribute === focused)?.focus();
    if (!chosen) this.detail.replaceChildren(h('p', { class: 'note' }, 'There is no sensor to show. Where a run is connected, add one on the left.'));
  }

  choose(name) {
    this.name = name;
    this.place.write('sensor', name, '');
    this.update();
  }

  describe(s) {
    const mount = s.pose ? Object.entries(s.pose).filter(([, v]) => v).map(([k, v]) => `${k} ${figure(v, 2)}`).join(', ') || 'at its origin' : '';
    const facts = [
      ['type', s.type], ['topics', s.topics.join(', ') || 'none'], ['frame', s.frame ?? ''],
      ['mounted', `${s.parent || 'base_link'}${s.attached_to ? ` of actor ${s.attached_to}` : ''}: ${mount}`],
      ['field of view', s.fov ? Object.entries(s.fov).map(([k, v]) => `${k} ${figure(v, 1)}${k === 'range' ? ' m' : '°'}`).join(', ') : ''],
    ].filter(([, v]) => v);
    const remove = h('button', { onclick: () => this.remove(s.name) }, 'remove sensor');
    const attributes = [...s.attributes];
    if (s.rate) attributes.unshift({ name: 'rate', type: 'string', value: s.rate, unit: 'Hz', live: true, doc: 'firings a second of simulated time' });
    const order = [...attributes.filter((a) => a.live), ...attributes.filter((a) => !a.live)];
    return [
      h('dl', {}, ...facts.flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, v)])), remove,
      h('table', { class: 'attributes' },
        h('thead', {}, h('tr', {}, ...['attribute', 'value', 'unit', 'range', 'meaning'].map((t) => h('th', {}, t)))),
        h('tbody', {}, ...order.map((a) => this.attribute(s.name, a)))),
    ];
  }

  attribute(sensor, a) {
    const range = a.choices?.join(', ') ?? (a.min !== undefined && a.max !== undefined ? `${a.min} to ${a.max}` : '');
    return h('tr', {}, h('td', {}, a.name), h('td', {}, a.live ? this.input(sensor, a) : textOf(a.value)),
      h('td', { class: 'soft' }, a.unit ?? ''), h('td', { class: 'soft range' }, range), h('td', { class: 'soft doc' }, a.inert ? `changes nothing: ${a.inert}` : a.doc));
  }

  input(sensor, a) {
    const set = (value) => this.set(sensor, a.name, value);
    const label = { 'aria-label': `${a.name} of ${sensor}`, 'data-attribute': a.name };
    if (a.type === 'bool' || typeof a.value === 'boolean') {
      const box = h('input', { type: 'checkbox', ...label, onchange: () => set(box.checked) });
      box.checked = a.value;
      return box;
    }
    if (a.choices) {
      const list = h('select', { ...label, onchange: () => set(list.value) }, ...a.choices.map((c) => h('option', {}, c)));
      list.value = a.value;
      return list;
    }
    const number = typeof a.value === 'number';
    const changed = () => {
      // An emptied box, or one with what is no number, has its value again: '' would be 0.
      if (number && box.value === '') box.value = textOf(a.value);
      else set(number ? Number(box.value) : box.value);
    };
    const box = h('input', { type: number ? 'number' : 'text', step: 'any', ...label, value: textOf(a.value), onchange: changed });
    if (number && a.min !== undefined) Object.assign(box, { min: a.min, max: a.max });
    return box;
  }

  async set(sensor, name, value) {
    const body = name === 'rate' ? { sensor, rate: value } : { sensor, attributes: { [name]: value } };
    await this.run.act((api) => api.put('/v1/sensor', body));
    this.key = ''; // show what holds now, also where the run refused it
    await this.run.readSensors();
  }

  async remove(name) {
    await this.run.act((api) => api.remove(`/v1/sensors/${encodeURIComponent(name)}`));
    await this.run.readSensors();
  }

  adder() {
    const types = ['sensor.camera.rgb', 'sensor.camera.depth', 'sensor.camera.semantic_segmentation', 'sensor.camera.instance_segmentation',
      'sensor.lidar.ray_cast', 'sensor.lidar.laser_scan', 'sensor.other.radar', 'sensor.other.imu', 'sensor.other.gnss'];
    const list = h('datalist', { id: 'sensor-types' }, ...types.map((t) => h('option', { value: t })));
    const field = (name, type, value) => h('label', {}, name, h('input', { name, type, value, required: type === 'text', step: 'any' }));
    const kind = field('type', 'text', types[0]);
    kind.lastChild.setAttribute('list', 'sensor-types');
    const form = h('form', { class: 'form' }, kind, field('name', 'text', 'added'), field('x', 'number', '0'), field('y', 'number', '0'),
      field('z', 'number', '1.8'), field('yaw', 'number', '0'), h('button', {}, 'add'), list);
    form.addEventListener('submit', async (e) => {
      e.preventDefault();
      const { type, name, ...pose } = Object.fromEntries(new FormData(form));
      const numbers = Object.fromEntries(Object.entries(pose).map(([k, v]) => [k, Number(v)]));
      const added = await this.run.act((api) => api.post('/v1/sensors', { type, name, pose: numbers }));
      if (added) this.choose(name);
      await this.run.readSensors();
    });
    return h('details', {}, h('summary', {}, 'add a sensor'), form);
  }
}

function textOf(value) {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'number' ? String(Number(value.toPrecision(7))) : String(value ?? '');
}
