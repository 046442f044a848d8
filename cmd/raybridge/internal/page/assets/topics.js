// The table of topics: rate, bandwidth, listeners, latency, what was lost. A click shows a topic's messages.

import { figure, h, show } from './elements.js';

const columns = [
  ['topic', ''], ['type', ''], ['Hz', 'published, in simulated time, over the last second'], ['here Hz', 'that this page received, over the last second'],
  ['here kB/s', 'that this page received'], ['listeners', 'whoever receives it now'], ['latency ms', 'from capture to publication, median and 99 %'], ['lost', 'for all receivers'],
];

export class Topics {
  constructor(run, chosen) {
    this.run = run;
    this.chosen = chosen;
    this.body = h('tbody');
    this.words = h('p', { class: 'note' });
    this.element = h('div', {}, h('table', { class: 'topics' },
      h('thead', {}, h('tr', {}, ...columns.map(([name, title]) => h('th', { title }, name)))), this.body), this.words);
    this.rates = new Map();
    run.sampled.add((status, before) => this.sample(status, before));
    run.watch(() => this.update());
  }

  shown(visible) {
    this.visible = visible;
    this.update();
  }

  // sample works out rates from two states of the run.
  sample(status, before) {
    const now = performance.now();
    const seconds = (now - this.at) / 1000;
    this.at = now;
    const past = new Map(before?.sensors.map((s) => [s.topic, s]));
    const simulated = before ? status.sim_s - before.sim_s : 0;
    for (const s of status.sensors) {
      const was = past.get(s.topic);
      const [here, hereBefore] = [this.run.link.received.get(s.topic) ?? { messages: 0, bytes: 0 }, this.rates.get(s.topic)?.count];
      this.rates.set(s.topic, {
        count: { ...here },
        published: was && simulated > 0 ? (s.messages - was.messages) / simulated : NaN,
        messages: hereBefore ? (here.messages - hereBefore.messages) / seconds : 0,
        bytes: hereBefore ? (here.bytes - hereBefore.bytes) / seconds : 0,
      });
    }
  }

  update() {
    if (!this.visible) return;
    const { status, link } = this.run;
    const rows = new Map(status?.sensors.filter((s) => s.topic && !s.ended).map((s) => [s.topic, s]));
    const names = [...new Set([...rows.keys(), ...link.streams.keys()])].sort();
    show(this.words, link.state.phase !== 'open' && names.length === 0 ? 'No run is connected.' : this.run.empty ? 'Nothing is published: the rig has no sensors.' : '');
    const key = names.map((name) => `${name} ${link.streams.has(name)}`).join('\n');
    if (key !== this.key) this.list(names);
    this.key = key;
    for (const name of names) this.fill(this.rows.get(name), rows.get(name), link.streams.get(name));
  }

  // list makes the rows. They stay while the topics are the same: a button that is pressed stays where it is.
  list(names) {
    this.rows = new Map(names.map((name) => {
      const open = this.run.link.streams.has(name) ? h('button', { class: 'as-link', onclick: () => this.chosen(name) }, name) : name;
      const cells = columns.slice(1).map((_, i) => h('td', { class: i === 0 ? 'soft' : 'n' }));
      return [name, { name, cells, element: h('tr', {}, h('td', {}, open), ...cells) }];
    }));
    this.body.replaceChildren(...[...this.rows.values()].map((r) => r.element));
  }

  fill({ name, cells, element }, row, stream) {
    const rate = this.rates.get(name) ?? {};
    const drops = Object.values(row?.drops ?? {}).reduce((a, b) => a + b, 0);
    const texts = [
      (stream?.type ?? row?.type ?? '').replace('/msg/', '/'),
      figure(rate.published), rate.messages > 0 ? figure(rate.messages) : '–', rate.bytes > 0 ? figure(rate.bytes / 1000) : '–',
      row?.listeners ?? (row?.idle ? '0' : '–'), row?.latency_p50_ms > 0 ? `${figure(row.latency_p50_ms)} / ${figure(row.latency_p99_ms)}` : '–', drops.toLocaleString('en'),
    ];
    texts.forEach((text, i) => show(cells[i], String(text)));
    cells.at(-1).classList.toggle('warn', drops > 0);
    element.classList.toggle('idle', Boolean(row?.idle));
  }
}
