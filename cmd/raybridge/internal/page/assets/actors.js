// The actors: who is there, following them, and what the API allows: those that came by frames can be moved and
// removed while the run is paused, and others can be added.

import { figure, h, show } from './elements.js';

const scenesOwn = 'The others are the scene\'s own, and can\'t be moved or removed.';
const whilePaused = 'Pause the run first: actors come, move and go with a step.';

export class Actors {
  constructor(run, view) {
    this.run = run;
    this.view = view;
    this.body = h('tbody');
    this.words = h('p', { class: 'note' });
    this.models = h('datalist', { id: 'actor-models' });
    this.element = h('div', {}, this.adder(), this.words, h('table', { class: 'actors' },
      h('thead', {}, h('tr', {}, ...['name', 'id', 'model', 'place', 'm/s', ''].map((t) => h('th', {}, t)))), this.body));
    run.sampled.add(() => this.visible && run.readActors());
    run.watch(() => this.update());
  }

  async shown(visible) {
    this.visible = visible;
    if (!visible) return;
    this.run.readActors();
    const models = await this.run.api.get('/v1/models').catch(() => ({ models: [] }));
    this.models.replaceChildren(...models.models.map((m) => h('option', { value: m.name })));
  }

  update() {
    if (!this.visible || this.body.contains(document.activeElement)) return; // nobody's button goes from under the finger
    const paused = this.run.time?.paused ?? false;
    const { listed } = this.run;
    const movable = listed.filter((a) => !a.own).length;
    show(this.words, `${listed.length} actors, of which ${movable} came by frames. ${movable < listed.length ? scenesOwn : ''} ${paused ? '' : whilePaused}`);
    const key = JSON.stringify([listed, paused, this.run.chosen?.actor]);
    if (key === this.key) return;
    this.key = key;
    const ordered = [...listed].sort((a, b) => Number(a.own) - Number(b.own) || a.handle - b.handle);
    this.body.replaceChildren(...ordered.map((a) => this.row(a, paused)));
  }

  row(a, paused) {
    const why = a.own ? 'It is the scene\'s own: only actors that came by frames can be moved or removed.' : paused ? '' : whilePaused;
    const act = (text, f) => h('button', { onclick: f, disabled: why !== '', title: why, 'aria-label': `${text} ${a.name}` }, text);
    const speed = a.velocity ? Math.hypot(...a.velocity) : 0;
    return h('tr', { class: this.run.chosen?.actor === a.handle ? 'chosen' : '' },
      h('td', {}, h('button', { class: 'as-link', onclick: () => this.view.chooseActor(a.handle) }, a.name)),
      h('td', { class: 'n soft' }, String(a.handle)), h('td', { class: 'soft' }, a.model),
      h('td', { class: 'n' }, a.position.map((v) => figure(v, 1)).join('  ')), h('td', { class: 'n' }, figure(speed, 1)),
      h('td', { class: 'acts' }, h('button', { onclick: () => this.view.follow(a.handle), 'aria-label': `follow ${a.name}` }, 'follow'),
        act('move', () => this.prepare(a)), act('remove', () => this.remove(a))));
  }

  // prepare fills the form in with where an actor is, so that it can be sent elsewhere.
  prepare(a) {
    this.moving = a;
    const { elements } = this.form;
    const q = a.orientation ?? [0, 0, 0, 1];
    const yaw = (Math.atan2(2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] ** 2 + q[2] ** 2)) * 180) / Math.PI;
    elements.model.value = a.model;
    elements.name.value = a.name;
    [elements.x.value, elements.y.value] = a.position.map((v) => v.toFixed(2));
    elements.yaw.value = yaw.toFixed(1);
    this.submit.textContent = `move ${a.name}`;
    this.cancel.hidden = false;
    this.form.parentElement.open = true;
    elements.x.focus();
  }

  release() {
    this.moving = null;
    this.submit.textContent = 'add';
    this.cancel.hidden = true;
    this.form.reset();
    document.activeElement?.blur(); // keys are the page's again
  }

  adder() {
    const field = (name, type, value) => h('label', {}, name, h('input', { name, type, value, step: 'any' }));
    const model = field('model', 'text', 'vehicle.sedan');
    model.lastChild.setAttribute('list', 'actor-models');
    this.submit = h('button', {}, 'add');
    this.cancel = h('button', { type: 'button', hidden: true, onclick: () => this.release() }, 'cancel');
    const here = h('button', { type: 'button', title: 'Twelve metres ahead of the ego', onclick: () => this.ahead() }, 'ahead');
    this.form = h('form', { class: 'form' }, model, field('name', 'text', ''), field('x', 'number', '0'), field('y', 'number', '0'), field('yaw', 'number', '0'),
      here, this.submit, this.cancel, this.models);
    this.form.addEventListener('submit', (e) => {
      e.preventDefault();
      this.send();
    });
    return h('details', {}, h('summary', {}, 'add or move an actor'), this.form);
  }

  ahead() {
    const { ego } = this.run;
    if (!ego) return;
    const { elements } = this.form;
    const [x, y, z, w] = ego.pose.orientation;
    const yaw = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
    elements.x.value = (ego.pose.position[0] + 12 * Math.cos(yaw)).toFixed(2);
    elements.y.value = (ego.pose.position[1] + 12 * Math.sin(yaw)).toFixed(2);
    elements.yaw.value = ((yaw * 180) / Math.PI).toFixed(1);
  }

  async send() {
    const { model, name, ...rest } = Object.fromEntries(new FormData(this.form));
    const [x, y, yaw] = ['x', 'y', 'yaw'].map((k) => Number(rest[k]));
    const moving = this.moving;
    const answer = await this.run.act((api) => (moving
      ? api.post('/v1/step', { steps: 1, actors: [{ handle: moving.handle, position: [x, y, moving.position[2]], yaw, jump: true }], wait: 'delivered' })
      : api.post('/v1/actors', { model, ...(name ? { name } : {}), position: [x, y, 0], yaw, on_ground: true })));
    if (!answer) return;
    this.release();
    this.key = '';
    await this.run.readActors();
    if (answer.spawned?.length) this.view.chooseActor(answer.spawned[0]);
  }

  async remove(a) {
    if (await this.run.act((api) => api.remove(`/v1/actors/${a.handle}`))) this.view.chooseActor(null);
    document.activeElement?.blur();
    this.run.readActors();
  }
}
