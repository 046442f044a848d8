// The keyboard, and the card that lists it.

import { h } from './elements.js';

// Keys maps keys to what they do. A key is one of KeyboardEvent.key; 'shift ' before it asks for shift.
export class Keys {
  constructor() {
    this.actions = new Map();
    this.held = new Set(); // keys that are down, for driving
    this.card = h('dialog', { class: 'keys', 'aria-label': 'Keys' });
    this.card.addEventListener('click', () => this.card.close());
    document.body.append(this.card);
    document.addEventListener('keydown', (e) => this.down(e));
    document.addEventListener('keyup', (e) => this.held.delete(e.key.toLowerCase()));
    window.addEventListener('blur', () => this.held.clear());
  }

  // on binds keys to an action. text says what it does.
  on(keys, text, action) {
    for (const key of keys) this.actions.set(key, { text, action, keys });
  }

  down(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || (this.card.open && key !== '?')) return;
    if (!(target instanceof Element) || target.matches('input:not([type="checkbox"]), textarea')) return;
    if (key === ' ' && target.matches('button, summary, select, input')) return;
    if (key.startsWith('Arrow') && target.matches('select')) return;
    this.held.add(key.toLowerCase());
    const bound = (event.shiftKey && this.actions.get(`shift ${key}`)) || this.actions.get(key);
    if (!bound || (event.repeat && !bound.keys.includes('n'))) return;
    event.preventDefault();
    bound.action(event.repeat);
  }

  help() {
    const names = { ' ': 'space', ArrowRight: '→', 'shift ArrowRight': 'shift →', Escape: 'Esc' };
    const told = new Set();
    const rows = [];
    for (const { text, keys } of this.actions.values()) {
      if (told.has(text)) continue;
      told.add(text);
      rows.push(h('dt', {}, ...keys.map((k) => h('kbd', {}, names[k] ?? k))), h('dd', {}, text));
    }
    rows.push(h('dt', {}, h('kbd', {}, 'drag'), h('kbd', {}, 'wheel')), h('dd', {}, 'turn, zoom; with shift or the right button move'));
    rows.push(h('dt', {}, h('kbd', {}, 'click')), h('dd', {}, 'a point for its fields, a box for its actor'));
    this.card.replaceChildren(h('h2', {}, 'Keys'), h('dl', {}, ...rows), h('p', { class: 'soft' }, 'Esc closes.'));
    if (this.card.open) this.card.close();
    else this.card.showModal();
  }
}
