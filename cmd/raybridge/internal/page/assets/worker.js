// The Worker that owns the WebSocket: it connects, takes frames apart, decodes, and hands the page what can be
// drawn. A WebSocket on the page's own thread carries a tenth of the data, and drawing stutters with it.

import { readFrame, serverEnds } from './wire.js';
import { parseDefinition } from './ros2msg.js';
import { readMessage } from './cdr.js';
import { kindOf, paint, valuesOf } from './pixels.js';

const version = 1;
const firstWait = 250; // ms until the first attempt to connect again
const longestWait = 3000;
const refused = 1008; // RFC 6455: policy violation
const beatsOfSilence = 5; // after which the connection is taken as broken

let address = '';
let token = '';
let socket = null;
let retry = 0;
let wait = firstWait;
let ended = false; // the server has said goodbye: its end is no loss
let beat = 1000; // ms in which the server says something at least
let heard = 0; // when it did last
const streams = new Map(); // by id: {description, fields, last}

self.onmessage = ({ data }) => {
  if (data.connect) {
    ({ address, token } = data.connect);
    close();
    wait = firstWait;
    ended = false;
    open();
  } else if (data.send && socket?.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(data.send));
  }
};

function close() {
  clearTimeout(retry);
  if (!socket) return;
  socket.onopen = socket.onmessage = socket.onclose = null;
  socket.close();
  socket = null;
  streams.clear();
}

function open() {
  let opened = false;
  socket = new WebSocket(address);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    opened = true;
    heard = performance.now();
    socket.send(JSON.stringify({ token, version }));
  };
  socket.onmessage = ({ data }) => {
    heard = performance.now();
    try {
      if (typeof data === 'string') post({ text: JSON.parse(data) });
      else take(data);
    } catch (error) { // of a server that speaks otherwise: the next message may be read
      post({ text: { error: `a message of the server can't be read: ${error.message}` } });
    }
  };
  socket.onclose = (event) => {
    streams.clear();
    if (event.code === refused) {
      post({ state: 'refused', reason: event.reason || 'the server refuses this page' });
      return; // the same again would be refused again
    }
    if (!ended) post({ state: opened ? 'lost' : 'unreachable', reason: event.reason });
    again();
  };
}

function again() {
  retry = setTimeout(open, wait);
  wait = Math.min(2 * wait, longestWait);
}

// A connection whose other end is gone without a word looks open for minutes, and its closing takes as long: it is left behind.
setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN || performance.now() - heard <= beatsOfSilence * beat) return;
  close();
  if (!ended) post({ state: 'lost', reason: 'the run says nothing' });
  again();
}, 1000);

function post(message, transfer = []) {
  self.postMessage(message, transfer);
}

function take(buffer) {
  const frame = readFrame(buffer);
  switch (frame.control) {
    case 'greeting':
      wait = firstWait;
      ended = false;
      beat = Math.max(frame.beat, 100);
      streams.clear();
      frame.streams.forEach(describe);
      post({ state: 'open', instance: frame.instance, streams: frame.streams });
      break;
    case 'stream':
      describe(frame.stream);
      post({ stream: frame.stream });
      break;
    case 'gone': // messages that are on their way still come, so that its description stays
      post({ gone: frame.id });
      break;
    case 'losses':
      post({ losses: frame.lost });
      break;
    case 'answer':
      if (frame.status !== 0) post({ text: { error: `${frame.name}: ${frame.reason}` } });
      break;
    case 'bye':
      ended = frame.status === serverEnds;
      if (ended) post({ state: 'ended', reason: frame.reason });
      break;
    case 'message':
      decode(frame, buffer);
      break;
  }
}

// describe keeps what messages of a stream are read by.
function describe(description) {
  const known = { description, last: Promise.resolve() };
  try {
    if (description.encoding === 'cdr' && description.language === 'ros2msg') {
      known.fields = parseDefinition(description.type, description.definition);
    } else {
      known.fault = `its messages are ${description.encoding}, which this page can't read`;
    }
  } catch (error) {
    known.fault = error.message;
  }
  streams.set(description.id, known);
}

// decode hands a message on when it is decoded, those of one stream in their order.
function decode(frame, buffer) {
  const known = streams.get(frame.stream);
  if (!known) return; // of a stream that this server never described
  known.last = known.last.then(async () => {
    try {
      if (known.fault) throw new Error(known.fault);
      const message = readMessage(known.fields, buffer, frame.body);
      const picture = await pictureOf(known.description, message);
      if (streams.get(frame.stream) !== known) { // of a connection that is gone
        picture?.bitmap.close();
        return;
      }
      if (picture) post({ frame: { ...frame, picture } }, [picture.bitmap]);
      else post({ frame: { ...frame, message } }, [buffer]);
    } catch (error) {
      post({ frame: { ...frame, fault: error.message } }); // the page gives its credit back all the same
    }
  });
}

// pictureOf returns a camera's picture as a bitmap, and its values where they aren't colours; null of other messages.
async function pictureOf({ type, sensorType }, message) {
  const stamp = message.header?.stamp;
  if (type === 'sensor_msgs/msg/Image') {
    const { encoding, width, height, step, data } = message;
    return lossless(tight(data, step, height), { encoding, unit: '', sensorType, width, height, stamp });
  }
  if (type !== 'sensor_msgs/msg/CompressedImage') return null;
  const { format, data } = message;
  const deflated = /^(\w+) (\d+)x(\d+)(?: (\w+))?; deflate$/.exec(format);
  if (deflated) {
    const [, encoding, width, height, unit = ''] = deflated;
    return lossless(await inflate(data), { encoding, unit, sensorType, width: Number(width), height: Number(height), stamp });
  }
  const bitmap = await createImageBitmap(new Blob([data]));
  return { bitmap, width: bitmap.width, height: bitmap.height, encoding: format.split(/[ ;]/)[0], stamp };
}

async function lossless(bytes, about) {
  const kind = kindOf(about.encoding, about.unit, about.sensorType);
  const values = valuesOf(kind, bytes);
  const bitmap = await createImageBitmap(paint(kind, values, about.width, about.height));
  return { ...about, bitmap, values };
}

// tight returns rows without what lies between them.
function tight(data, step, height) {
  const bytes = Math.floor(data.length / Math.max(height, 1));
  if (step === bytes) return data;
  throw new Error(`the picture has rows of ${step} bytes in ${data.length} bytes`);
}

async function inflate(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
