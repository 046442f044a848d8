// Elements of the page, made in one expression.

// h makes an element: h('button', {class: 'icon', onclick: f, 'aria-label': 'Play'}, 'text', child, ...).
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (typeof value === 'boolean') element.toggleAttribute(key, value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// show writes a text where it has changed, so that a reader of the screen isn't told the same again.
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// choice is a labelled list to choose from; options are values, or pairs of value and text.
export function choice(label, options, value, chosen) {
  const list = options.map((o) => (Array.isArray(o) ? o : [o, o]));
  const select = h('select', { 'aria-label': label, onchange: () => chosen(select.value) },
    ...list.map(([v, text]) => h('option', { value: v }, text)));
  select.value = value;
  return select;
}

// check is a labelled box to tick.
export function check(label, value, changed) {
  const box = h('input', { type: 'checkbox', onchange: () => changed(box.checked) });
  box.checked = value;
  return h('label', { class: 'check' }, box, label);
}

// fit gives a canvas the pixels that it has on the screen, and returns whether they changed.
export function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h2] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width === w && canvas.height === h2) return false;
  canvas.width = w;
  canvas.height = h2;
  return true;
}

// watchSight tells whenever an element begins or ends to be in sight: in the window, and not scrolled away.
export function watchSight(element, tell) {
  const observer = new window.IntersectionObserver((entries) => tell(entries.at(-1).isIntersecting));
  observer.observe(element);
  return () => observer.disconnect();
}

// figure writes a number with so many digits at most, and a dash for none.
export function figure(value, digits = 1) {
  return Number.isFinite(value) ? value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits }) : '–';
}

// download gives the user a file.
export function download(blob, name) {
  const link = h('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
