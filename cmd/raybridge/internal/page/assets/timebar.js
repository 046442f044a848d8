// The bar on top: the connection, time and its controls, how fast the run goes, and what was lost.

import { choice, figure, h, show } from './elements.js';
import { totalLost } from './losses.js';

const scales = [0.1, 0.25, 0.5, 1, 2, 5, 10];

const phases = {
  connecting: 'connecting', open: 'live', ended: 'the run has ended', refused: 'refused',
  lost: 'connection lost, trying again', unreachable: 'no run here, trying again',
};

export class TimeBar {
  constructor(bar, run, actions) {
    this.run = run;
    this.state = h('span', { class: 'state', role: 'status' });
    this.play = h('button', { class: 'icon play', onclick: () => this.toggle() });
    this.step = h('button', { class: 'icon', title: 'One step while paused (n)', 'aria-label': 'Step', onclick: () => this.advance(1) }, '⇥');
    this.scale = choice('Speed', scales.map((s) => [s, `${s}×`]), 1, (v) => this.setScale(Number(v)));
    this.now = h('span', { class: 'now', role: 'timer', 'aria-label': 'Simulation time' }); // an <output> would be read aloud with each change
    this.factor = h('span', { class: 'soft', title: 'Simulated seconds a second, over the last second' });
    this.lost = h('button', { class: 'lost', title: 'What was lost, by cause', onclick: actions.losses });
    this.complaint = h('span', { class: 'complaint', role: 'alert' });
    bar.append(
      h('b', { class: 'brand' }, 'raybridge'), this.state,
      h('span', { class: 'group', role: 'group', 'aria-label': 'Time' }, this.play, this.step, this.scale), this.now, this.factor, this.lost,
      this.complaint, h('span', { class: 'gap' }),
      h('button', { class: 'icon', title: 'Swap 3-D and pictures (x)', 'aria-label': 'Swap 3-D and pictures', onclick: actions.swap }, '⇄'),
      h('button', { class: 'icon', title: 'Copy a link to this view (l)', 'aria-label': 'Copy a link to this view', onclick: actions.link }, 'link'),
      h('button', { class: 'icon', title: 'Dark or light (t)', 'aria-label': 'Dark or light', onclick: actions.theme }, '◐'),
      h('button', { class: 'icon', title: 'Keys (?)', 'aria-label': 'Keys', onclick: actions.help }, '?'),
    );
    run.watch(() => this.update());
    run.link.watch(() => this.update());
  }

  toggle() {
    const paused = this.run.time?.paused;
    return this.run.act((api) => api.post(paused ? '/v1/resume' : '/v1/pause'));
  }

  // advance makes steps. A run that isn't paused is paused first: whoever asks for a step wants to see it stand. Of a key
  // that is held each next step waits for the one before.
  async advance(steps, repeat = false) {
    if (repeat && this.stepping) return;
    this.stepping = true;
    if (!this.run.time?.paused) await this.run.act((api) => api.post('/v1/pause'));
    await this.run.act((api) => api.post('/v1/step', { steps }));
    this.stepping = false;
  }

  setScale(scale) { return this.run.act((api) => api.put('/v1/time/scale', { scale })); }

  // faster takes the next speed up, or down.
  faster(up) {
    const now = this.run.time?.scale ?? 1;
    const next = up ? scales.find((s) => s > now) : scales.findLast((s) => s < now);
    if (next) this.setScale(next);
  }

  update() {
    const { time, status, before, link } = this.run;
    const { phase } = link.state;
    show(this.state, phases[phase]);
    this.state.dataset.phase = phase;
    const live = phase === 'open';
    for (const control of [this.play, this.step, this.scale]) control.disabled = !live || !time;
    const paused = time?.paused ?? false;
    show(this.play, paused ? '▶' : '❚❚');
    this.play.setAttribute('aria-label', paused ? 'Play' : 'Pause');
    this.play.title = `${paused ? 'Play' : 'Pause'} (space)`;
    if (time) {
      if (![...this.scale.options].some((o) => Number(o.value) === time.scale)) this.scale.add(new Option(`${time.scale}×`, time.scale));
      this.scale.value = time.scale;
    }
    const factor = status && before ? (status.sim_s - before.sim_s) / (status.wall_s - before.wall_s) : NaN;
    show(this.factor, paused && live ? 'paused' : live ? `${figure(factor, 2)}× real time` : '');
    const lost = totalLost(status);
    show(this.lost, `${lost.toLocaleString('en')} lost`);
    this.lost.classList.toggle('some', lost > 0);
    const words = this.run.complaint || link.fault;
    show(this.complaint, words || '');
    this.complaint.title = words || '';
    this.draw();
  }

  // draw writes the time, which goes on between two states of the run by its snapshots. Both begin anew with the run.
  draw() {
    const { time, stamp } = this.run;
    const sent = time ? time.sec + time.nanosec / 1e9 : 0;
    show(this.now, `${Math.max(stamp, sent).toFixed(2)} s`);
  }
}
