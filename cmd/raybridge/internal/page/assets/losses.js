// What was lost, by cause, where it happens: in a sensor's topic, in a bridge, and on the way to this page.

import { h } from './elements.js';

const why = {
  readback_full: 'the device was slower than the sensors', readback_failed: 'the device failed', skipped: 'there was no time for it',
  paused: 'the topic was paused', token_busy: 'the message before was still under way', queue_full: 'newer messages pushed it out of a full queue',
  convert_failed: 'it could not be converted', too_large: 'it is larger than the receiver allows', not_connected: 'no receiver was connected',
  peer_slow: 'the receiver was too slow', write_failed: 'writing failed', closed: 'the end came first',
  slow: 'this page had not drawn the one before: it gets the newest', gone: 'the page had closed', ended: 'the server ended',
};

export function totalLost(status) {
  if (!status) return 0;
  return [...status.sensors, ...(status.inputs ?? [])].reduce((n, row) => n + sum(row.drops), 0);
}

const sum = (drops) => Object.values(drops ?? {}).reduce((a, b) => a + (Number(b) || 0), 0);

export class Losses {
  constructor(run) {
    this.run = run;
    this.body = h('tbody');
    this.words = h('p', { class: 'note' });
    this.element = h('div', {}, this.words, h('table', { class: 'losses' }, h('thead', {}, h('tr', {}, ...['where', 'cause', 'lost', 'meaning'].map((t) => h('th', {}, t)))), this.body));
    run.watch(() => this.update());
  }

  shown(visible) {
    this.visible = visible;
    this.update();
  }

  update() {
    const { status, link } = this.run;
    if (!this.visible || !status) return;
    const rows = [];
    const put = (where, drops) => {
      for (const [cause, n] of Object.entries(drops ?? {})) if (n > 0) rows.push([where, cause, n]);
    };
    status.sensors.forEach((s) => put(s.topic || s.type, s.drops));
    (status.inputs ?? []).forEach((s) => put(`input ${s.topic}`, s.drops));
    status.bridges.forEach((b) => put(`bridge ${b.connection || b.name}`, b.drops));
    const here = [...link.missed].filter(([, m]) => m.dropped > 0).map(([name, m]) => [`this page, ${name}`, m.cause, m.dropped]);
    const text = rows.length + here.length === 0 ? 'Nothing was lost.'
      : rows.length === 0 ? 'The run lost nothing. Other receivers got what this page skipped.' : '';
    this.words.textContent = text;
    this.body.replaceChildren(...[...rows, ...here].map(([where, cause, n]) => h('tr', {},
      h('td', {}, where), h('td', {}, cause.replaceAll('_', ' ')), h('td', { class: 'n' }, n.toLocaleString('en')), h('td', { class: 'soft' }, why[cause] ?? ''))));
  }
}
