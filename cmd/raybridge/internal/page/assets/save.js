// Saving what is on the screen: the 3-D view as a picture, its newest clouds as PCD files.

import { bytesOfPoint } from './gl.js';
import { download } from './elements.js';

// saveView saves the view with the names over it. It is drawn anew: a WebGL canvas is empty once it was shown.
export function saveView(view) {
  view.dirty = true;
  view.draw();
  const sheet = new OffscreenCanvas(view.canvas.width, view.canvas.height);
  const pen = sheet.getContext('2d');
  pen.drawImage(view.canvas, 0, 0);
  pen.drawImage(view.over, 0, 0);
  sheet.convertToBlob().then((blob) => download(blob, `view_${view.run.stamp.toFixed(3)}.png`));
}

export function saveClouds(scene) {
  for (const { frame, stream, count } of scene.newest()) {
    const name = `${stream.name.slice(1).replaceAll('/', '_')}_${frame.stamp.toFixed(3)}.pcd`;
    download(new Blob([pcd(frame, count)]), name);
  }
}

// pcd returns a cloud as PCD 0.7, binary: x, y, z in the sensor's frame as they came, within 1/65535 of the scan's box, and
// return_type where a firing has several returns.
export function pcd(frame, count) {
  const { origin, size, points } = frame.message;
  const { position: p, orientation: q } = frame.pose ?? { position: [0, 0, 0], orientation: [0, 0, 0, 1] };
  const from = new DataView(points.buffer, points.byteOffset, points.byteLength);
  const returnAt = (i) => from.getUint8(i * bytesOfPoint + 9);
  const several = Array.from({ length: count }, (_, i) => returnAt(i)).some((kind) => kind > 0);
  const more = (text) => (several ? ` ${text}` : '');
  const head = [
    '# .PCD v0.7', 'VERSION 0.7', `FIELDS x y z intensity ring tag instance${more('return_type')}`, `SIZE 4 4 4 4 1 1 4${more('1')}`,
    `TYPE F F F F U U U${more('U')}`, `COUNT 1 1 1 1 1 1 1${more('1')}`, `WIDTH ${count}`, 'HEIGHT 1', `VIEWPOINT ${[...p, q[3], q[0], q[1], q[2]].join(' ')}`, `POINTS ${count}`, 'DATA binary', '',
  ].join('\n');
  const each = several ? 23 : 22;
  const out = new DataView(new ArrayBuffer(head.length + each * count));
  new Uint8Array(out.buffer).set(new TextEncoder().encode(head));
  for (let i = 0; i < count; i++) {
    const [at, to] = [i * bytesOfPoint, head.length + i * each];
    for (let k = 0; k < 3; k++) out.setFloat32(to + 4 * k, origin[k] + (size[k] * from.getUint16(at + 2 * k, true)) / 65535, true);
    out.setFloat32(to + 12, from.getUint8(at + 6), true);
    out.setUint8(to + 16, from.getUint8(at + 7));
    out.setUint8(to + 17, from.getUint8(at + 8));
    out.setUint32(to + 18, from.getUint32(at + 10, true), true);
    if (several) out.setUint8(to + 22, returnAt(i));
  }
  return out.buffer;
}
