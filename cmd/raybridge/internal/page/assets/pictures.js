// The panel of pictures: a tile for each output of each camera that is shown, with boxes over it and the value under the pointer.

import { lensOf } from './lens.js';
import { kindOf, tell } from './pixels.js';
import { actorColor } from './sketches.js';
import { add, corners, edges, scale, subtract, within } from './space.js';
import { check, download, h, show, watchSight } from './elements.js';

const types = ['sensor_msgs/msg/CompressedImage', 'sensor_msgs/msg/Image'];
const infoType = 'sensor_msgs/msg/CameraInfo';
const farthestBox = 60; // metres
const nearestBox = 0.3; // metres in front of the camera: what is nearer is cut off
const piecesOfEdge = 12; // of a box, where the lens bends it
const widthForNames = 420; // pixels that a picture has at least where names are written over it
const narrowest = 260; // pixels that a tile has at least: more of them have to be scrolled to

export class Pictures {
  constructor(panel, run, place) {
    this.panel = panel;
    this.run = run;
    this.place = place;
    this.hidden = new Set(place.read('nopictures', []));
    this.boxes = place.read('pictureboxes', '') === 'on';
    this.tiles = new Map();
    this.menu = h('div', { class: 'menu' });
    this.grid = h('div', { class: 'tiles' });
    this.words = h('div', { class: 'empty' });
    panel.body.append(this.grid, this.words);
    new window.ResizeObserver(() => this.layOut()).observe(panel.body);
    panel.tools.append(
      check('boxes', this.boxes, (on) => {
        this.boxes = on;
        place.write('pictureboxes', on ? 'on' : '', '');
        this.stale();
      }),
      h('details', { class: 'drop' }, h('summary', {}, 'outputs'), this.menu),
    );
    run.link.watch(() => this.follow());
    run.watch(() => {
      this.explain();
      this.stale(); // another actor may be chosen
    });
  }

  // stale has the boxes drawn anew.
  stale() { this.tiles.forEach((tile) => { tile.stale = true; }); }

  follow() {
    const cameras = this.run.ofType(...types);
    const key = `${this.run.link.instance} ${cameras.map((s) => s.name)}`;
    if (key !== this.key) {
      this.key = key;
      this.menu.replaceChildren(...cameras.map(({ name }) => check(name, !this.hidden.has(name), (on) => this.hide(name, !on))));
    }
    for (const [name, tile] of this.tiles) {
      // Another run, or a sensor that came anew, may have other pictures under the same name.
      if (cameras.some((s) => s.name === name && s.id === tile.stream.id) && this.run.link.instance === tile.instance && !this.hidden.has(name)) continue;
      tile.end();
      this.tiles.delete(name);
    }
    for (const stream of cameras) {
      if (this.tiles.has(stream.name) || this.hidden.has(stream.name)) continue;
      const tile = new Tile(this, stream);
      this.tiles.set(stream.name, tile);
      this.grid.append(tile.element);
    }
    this.tiles.forEach((tile) => tile.hear());
    this.grid.dataset.count = this.tiles.size;
    this.layOut();
    this.explain();
  }

  hide(name, hidden) {
    if (hidden) this.hidden.add(name);
    else this.hidden.delete(name);
    this.place.write('nopictures', [...this.hidden]);
    this.follow();
  }

  // enlarge shows one tile alone, or all again.
  enlarge(tile) {
    const on = tile.element.classList.toggle('large');
    this.grid.classList.toggle('one', on);
    this.layOut();
  }

  // layOut makes the tiles as large as all of them fit into the panel.
  layOut() {
    const { clientWidth: width, clientHeight: height } = this.panel.body;
    const large = this.large();
    const tiles = large ? [large] : [...this.tiles.values()];
    if (tiles.length === 0 || width === 0) return;
    const ratio = Math.min(...tiles.map((tile) => tile.ratio)); // of the tallest
    const caption = tiles[0].element.clientHeight - tiles[0].frame.clientHeight;
    const widths = tiles.map((_, i) => {
      const rows = Math.ceil(tiles.length / (i + 1));
      return Math.min(Math.floor(width / (i + 1)), Math.floor((height / rows - caption - 1) * ratio));
    });
    let columns = widths.indexOf(Math.max(...widths)) + 1;
    if (widths[columns - 1] < narrowest && !large) columns = Math.max(Math.floor(width / narrowest), 1);
    this.grid.style.setProperty('--columns', columns);
    this.grid.style.setProperty('--wide', large || widths[columns - 1] >= narrowest ? `${widths[columns - 1]}px` : '1fr');
  }

  // large is the tile that is shown alone.
  large() { return [...this.tiles.values()].find((tile) => tile.element.classList.contains('large')); }

  // reduce shows all tiles again, and returns whether one was alone.
  reduce() {
    const large = this.large();
    if (large) this.enlarge(large);
    return Boolean(large);
  }

  explain() {
    const cameras = this.run.ofType(...types);
    let why = '';
    if (this.run.link.state.phase === 'open' && this.tiles.size === 0) {
      why = cameras.length === 0 ? 'No camera is in this run. Add one in the panel Rig.' : 'All pictures are hidden: see "outputs".';
    }
    show(this.words, why);
    for (const tile of this.tiles.values()) show(tile.words, tile.picture || this.run.link.state.phase !== 'open' ? '' : this.run.waiting('picture'));
  }

  draw() {
    if (!this.panel.visible) return;
    for (const tile of this.tiles.values()) tile.draw();
  }
}

class Tile {
  constructor(pictures, stream) {
    this.pictures = pictures;
    this.run = pictures.run;
    this.stream = stream;
    this.canvas = h('canvas', { role: 'img', 'aria-label': `${stream.name}, no picture yet` });
    this.over = h('canvas', { class: 'boxes', 'aria-hidden': 'true' });
    this.value = h('span', { class: 'value' });
    this.about = h('span', { class: 'soft' });
    this.words = h('div', { class: 'empty' });
    const save = h('button', { class: 'icon', title: 'Save as PNG', 'aria-label': `Save ${stream.name}`, onclick: () => this.save() }, '⤓');
    const large = h('button', { class: 'icon', title: 'Enlarge', 'aria-label': `Enlarge ${stream.name}`, onclick: () => pictures.enlarge(this) }, '⤢');
    this.frame = h('div', { class: 'frame' }, this.canvas, this.over, this.words);
    this.element = h('figure', { class: 'tile' }, this.frame,
      h('figcaption', {}, h('b', { title: stream.name }, stream.name.replace(/\/image(_raw|_color)?(\/compressed)?$/, '')), this.about, this.value, save, large));
    this.element.dataset.topic = stream.name;
    this.frame.addEventListener('pointermove', (e) => this.point(e));
    this.frame.addEventListener('pointerleave', () => this.point(null));
    this.frame.addEventListener('dblclick', () => pictures.enlarge(this));
    this.instance = this.run.link.instance;
    this.frames = 0;
    this.ratio = 4 / 3; // until there is a picture
    this.unseen = watchSight(this.frame, (seen) => {
      this.seen = seen;
      this.hear();
    });
  }

  // hear listens to the pictures while they are in sight, and to what the camera says of itself as soon as there is such a stream.
  hear() {
    const { link } = this.run;
    if (!this.seen) {
      this.unheard?.();
      this.uninformed?.();
      this.unheard = this.uninformed = null;
      return;
    }
    this.unheard ??= link.listen(this.stream.name, (frame) => this.take(frame));
    const info = [...link.streams.values()].find((s) => s.type === infoType && s.sensor === this.stream.sensor);
    if (!info) return;
    this.uninformed ??= link.listen(info.name, ({ message }) => {
      this.info = message;
      this.stale = true;
    });
  }

  take(frame) {
    if (!frame.picture) return false; // of a stream that has changed its type
    this.picture?.bitmap.close();
    this.picture = frame.picture;
    this.shot = frame;
    this.dirty = true;
    return true;
  }

  draw() {
    if (!this.picture) return;
    if (this.dirty) this.drawPicture();
    // The snapshot of a picture's instant may come after it.
    if (!this.stale && (this.boxedAt >= this.shot.stamp || this.boxedAt === this.run.stamp)) return;
    this.stale = false;
    this.boxedAt = this.run.stamp;
    this.drawBoxes();
    const bare = this.pictures.boxes && this.info && !this.lens();
    const rolls = this.attribute('shutter') === 'rolling' ? ` · rolling ${this.attribute('readout')}` : '';
    show(this.about, `${this.picture.width}×${this.picture.height} · ${this.shot.stamp.toFixed(2)} s${rolls}${bare ? ' · no boxes: no model of CameraInfo describes this lens' : ''}`);
  }

  drawPicture() {
    this.dirty = false;
    this.stale = true;
    const { bitmap, width, height } = this.picture;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      for (const canvas of [this.canvas, this.over]) Object.assign(canvas, { width, height });
      this.ratio = width / height;
      this.element.style.setProperty('--ratio', this.ratio);
      this.pictures.layOut();
    }
    this.pen ??= this.canvas.getContext('2d', { alpha: false, willReadFrequently: true });
    this.pen.drawImage(bitmap, 0, 0);
    show(this.words, '');
    this.canvas.setAttribute('aria-label', `${this.stream.name}, ${width} by ${height} pixels, at ${this.shot.stamp.toFixed(2)} seconds`);
    this.canvas.dataset.frames = ++this.frames;
    this.tell();
  }

  // attribute returns the value of one of the camera, as the run tells it.
  attribute(name) {
    return this.run.sensors.find((s) => s.name === this.stream.sensor)?.attributes.find((a) => a.name === name)?.value;
  }

  lens() { return lensOf(this.info, this.attribute('principal_point') === 'corner'); }

  drawBoxes() {
    const pen = this.over.getContext('2d');
    pen.clearRect(0, 0, this.over.width, this.over.height);
    const lens = this.info && this.lens();
    if (!this.pictures.boxes || !this.shot.pose || !lens) return;
    const pieces = lens.straight ? 1 : piecesOfEdge;
    const { width, height } = this.over;
    // A fisheye's edges aren't cut off beside the camera. Edges beside the picture are left out, because they may lead around it.
    const visible = lens.fisheye ? (ends) => ends.some(([u, v]) => u >= 0 && v >= 0 && u <= width && v <= height) : () => true;
    const pixel = this.over.width / this.over.clientWidth; // of the screen, in pixels of the picture
    pen.lineWidth = pixel;
    pen.font = `${11 * pixel}px system-ui, sans-serif`;
    const named = this.over.clientWidth >= widthForNames;
    const chosen = this.run.chosen?.actor;
    for (const actor of this.run.actorsAt(this.shot.stamp).values()) {
      if (actor.id === 0 || actor.kind > 2) continue;
      const away = Math.hypot(...within(this.shot.pose, actor.pose.position));
      if (away > farthestBox) continue;
      const points = corners(actor.pose, actor.centre, actor.half).map((p) => within(this.shot.pose, p));
      const lines = edges.map(([a, b]) => (lens.fisheye ? [points[a], points[b]] : inFront(points[a], points[b]))).filter(Boolean)
        .flatMap((ends) => piecesOf(ends, pieces)).map((ends) => ends.map(lens.at)).filter((ends) => ends.every(Boolean) && visible(ends));
      if (lines.length === 0) continue;
      pen.strokeStyle = pen.fillStyle = actor.id === chosen ? 'rgb(255 196 61)' : `rgb(${actorColor(actor)} / 80%)`.replaceAll(',', ' ');
      pen.beginPath();
      for (const [a, b] of lines) {
        pen.moveTo(...a);
        pen.lineTo(...b);
      }
      pen.stroke();
      const ends = lines.flat();
      if (named && away < 30) pen.fillText(this.run.nameOf(actor), Math.min(...ends.map((p) => p[0])), Math.min(...ends.map((p) => p[1])) - 3);
    }
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    this.under = event && [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]; // shares: the next picture may be smaller
    this.tell();
  }

  // tell says what stands under the pointer: the value where the picture came lossless, else the colour.
  tell() {
    if (!this.under || !this.pen || this.under.some((share) => share < 0 || share >= 1)) {
      show(this.value, '');
      return;
    }
    const { values, encoding, unit, width, height } = this.picture;
    const [x, y] = [Math.floor(this.under[0] * width), Math.floor(this.under[1] * height)];
    const told = values ? tell(kindOf(encoding, unit, this.stream.sensorType), values, y * width + x)
      : `rgb ${[...this.pen.getImageData(x, y, 1, 1).data.subarray(0, 3)].join(' ')}`;
    let name = '';
    const id = encoding === '16UC1' || encoding === '32SC1' ? values?.[y * width + x] : undefined;
    if (id && unit !== 'mm') name = this.run.actors.get(id) ? ` ${this.run.nameOf(this.run.actors.get(id))}` : '';
    show(this.value, `${told}${name} at ${x}, ${y}`);
  }

  save() {
    if (!this.picture) return;
    const name = `${this.stream.name.slice(1).replaceAll('/', '_')}_${this.shot.stamp.toFixed(3)}.png`;
    this.canvas.toBlob((blob) => download(blob, name));
  }

  end() {
    this.unseen();
    this.seen = false;
    this.hear();
    this.picture?.bitmap.close();
    if (this.element.classList.contains('large')) this.pictures.enlarge(this);
    this.element.remove();
  }
}

// piecesOf cuts an edge into so many parts.
function piecesOf([a, b], n) {
  const at = (i) => add(a, scale(subtract(b, a), i / n));
  return Array.from({ length: n }, (_, i) => [at(i), at(i + 1)]);
}

// inFront returns the part of an edge, in the camera's frame, that lies in front of it; null where none does.
function inFront(a, b) {
  if (Math.max(a[0], b[0]) < nearestBox) return null;
  const cut = (from, to) => (from[0] >= nearestBox ? from : add(from, scale(subtract(to, from), (nearestBox - from[0]) / (to[0] - from[0]))));
  return [cut(a, b), cut(b, a)];
}
