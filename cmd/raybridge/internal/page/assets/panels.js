// Panels and how they are arranged: 3-D and pictures side by side, and a dock of tabs below. The borders between
// them can be dragged, a panel can fill the window, and the two upper ones can change places.

import { h, watchSight } from './elements.js';

const usual = { across: 62, down: 66, swap: false, tab: 'topics', theme: '' };

// Panel is a titled part of the window: tools are its controls, body what it shows.
export class Panel {
  constructor(id, title) {
    this.id = id;
    this.tools = h('div', { class: 'tools' });
    this.body = h('div', { class: 'body' });
    this.large = h('button', { class: 'icon', 'aria-label': `Enlarge ${title}`, 'aria-pressed': 'false', title: 'Fill the window; Esc leaves' }, '⤢');
    this.element = h('section', { id, class: 'panel', 'aria-label': title }, h('header', {}, h('h2', {}, title), this.tools, this.large), this.body);
  }
  get visible() { return this.element.offsetParent !== null && this.body.clientHeight > 0; }
}

// Dock is a panel of tabs, of which one is shown.
export class Dock extends Panel {
  constructor(arrangement) {
    super('dock', 'Details');
    this.arrangement = arrangement;
    this.tabs = new Map();
    this.list = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Details' });
    this.element.querySelector('h2').replaceWith(this.list);
    watchSight(this.body, (seen) => {
      this.seen = seen;
      this.tell();
    });
    this.list.addEventListener('keydown', (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      const ids = [...this.tabs.keys()];
      this.show(ids[(ids.indexOf(this.shown) + step + ids.length) % ids.length]);
      this.tabs.get(this.shown).button.focus();
      e.stopPropagation();
    });
  }
  // add adds a tab. content is {element, tools, shown(visible)}: shown is called when it begins or ends to be seen.
  add(id, title, content) {
    const button = h('button', { role: 'tab', id: `tab-${id}`, 'aria-controls': `page-${id}`, onclick: () => this.show(id) }, title);
    const page = h('div', { role: 'tabpanel', id: `page-${id}`, 'aria-labelledby': `tab-${id}`, class: 'page', hidden: true }, content.element);
    this.tabs.set(id, { button, page, content });
    this.list.append(button);
    this.body.append(page);
  }
  show(id) {
    if (!this.tabs.has(id)) id = usual.tab;
    this.shown = id;
    for (const [key, { button, page, content }] of this.tabs) {
      const on = key === id;
      button.setAttribute('aria-selected', String(on));
      button.tabIndex = on ? 0 : -1;
      page.hidden = !on;
      if (on) this.tools.replaceChildren(...(content.tools ?? []));
    }
    this.tell();
    this.arrangement.set('tab', id);
  }
  tell() {
    for (const [id, { content }] of this.tabs) {
      const on = Boolean(this.seen) && id === this.shown;
      if (content.seen !== on) content.shown?.(content.seen = on);
    }
  }
}

// Arrangement places the panels in the window, and keeps that in the link.
export class Arrangement {
  constructor(root, place) {
    this.root = root;
    this.place = place;
    this.state = { ...place.read('panels', usual) };
    for (const key of ['across', 'down']) this.state[key] = Math.min(Math.max(this.state[key], 15), 85);
  }
  arrange(upper, dock) {
    this.upper = upper;
    const across = this.splitter('across', 'Border between 3-D and pictures', (e, box) => ((e.clientX - box.left) / box.width) * 100);
    const down = this.splitter('down', 'Border above the details', (e, box) => ((e.clientY - box.top) / box.height) * 100);
    this.root.append(upper[0].element, across, upper[1].element, down, dock.element);
    for (const panel of [...upper, dock]) panel.large.onclick = () => this.enlarge(panel);
    this.apply();
    dock.show(this.state.tab);
  }
  // enlarge lets a panel fill the window below the bar, in the place of one that does; or none, where this one does already.
  enlarge(panel) {
    const before = this.enlarged;
    this.enlarged = panel === before ? null : panel;
    for (const each of new Set([before, panel])) {
      each?.element.classList.toggle('large', each === this.enlarged);
      each?.large.setAttribute('aria-pressed', String(each === this.enlarged));
    }
    document.body.classList.toggle('enlarged', Boolean(this.enlarged));
  }
  set(key, value) {
    this.state[key] = value;
    this.place.write('panels', this.state, usual);
    this.apply();
  }
  swap() { this.set('swap', !this.state.swap); }
  theme() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    this.set('theme', dark ? 'light' : 'dark');
  }
  apply() {
    this.root.style.setProperty('--across', `${this.state.across}%`);
    this.root.style.setProperty('--down', `${this.state.down}%`);
    this.root.classList.toggle('swapped', this.state.swap);
    if (this.state.theme) document.documentElement.dataset.theme = this.state.theme;
  }
  splitter(key, label, place) {
    const bar = h('div', { class: `splitter ${key}`, role: 'separator', tabindex: '0', 'aria-label': label, 'aria-valuemin': '15', 'aria-valuemax': '85',
      'aria-orientation': key === 'across' ? 'vertical' : 'horizontal', 'aria-valuenow': String(Math.round(this.state[key])) });
    const move = (share) => {
      const bounded = Math.min(Math.max(share, 15), 85);
      bar.setAttribute('aria-valuenow', String(Math.round(bounded)));
      this.set(key, Number(bounded.toFixed(1)));
    };
    bar.addEventListener('pointerdown', (e) => {
      e.preventDefault();
      bar.setPointerCapture(e.pointerId);
    });
    bar.addEventListener('pointermove', (e) => {
      if (!bar.hasPointerCapture(e.pointerId)) return;
      const share = place(e, this.root.getBoundingClientRect());
      move(key === 'across' && this.state.swap ? 100 - share : share);
    });
    bar.addEventListener('keydown', (e) => {
      const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[e.key];
      if (!step) return;
      e.preventDefault();
      e.stopPropagation();
      move(this.state[key] + step);
    });
    return bar;
  }
}
