// The frames that come over /ws. docs/stream-protocol.md defines what is in them; here a WebSocket
// message is 8 bytes (stream, flags, control, number) and the payload.

export const control = { greeting: 0, stream: 2, answer: 3, losses: 4, bye: 5, gone: 12 };

// The status of a goodbye that ends a run in order.
export const serverEnds = 7;

const utf8 = new TextDecoder();

// Cursor reads little-endian numbers one after another.
class Cursor {
  constructor(buffer, at) {
    this.view = new DataView(buffer);
    this.at = at;
  }
  u8() { return this.view.getUint8(this.at++); }
  u16() { return this.view.getUint16((this.at += 2) - 2, true); }
  u32() { return this.view.getUint32((this.at += 4) - 4, true); }
  u64() { return this.view.getBigUint64((this.at += 8) - 8, true); }
  i64() { return this.view.getBigInt64((this.at += 8) - 8, true); }
  f64() { return this.view.getFloat64((this.at += 8) - 8, true); }
  text(bytes) {
    const text = utf8.decode(new Uint8Array(this.view.buffer, this.at, bytes));
    this.at += bytes;
    return text;
  }
  string() { return this.text(this.u16()); }
}

// readFrame returns what a WebSocket message holds: {control: "message", ...} or what a control says.
export function readFrame(buffer) {
  const c = new Cursor(buffer, 0);
  const stream = c.u16();
  c.u8(); // flags, none over WebSocket
  const kind = c.u8();
  const number = c.u32();
  if (stream !== 0) return { control: 'message', stream, number, ...readEnvelope(c), bytes: buffer.byteLength };
  switch (kind) {
    case control.greeting: return readGreeting(c);
    case control.stream: return { control: 'stream', stream: readDescription(c) };
    case control.answer: return { control: 'answer', to: c.u8(), status: c.u16(), name: c.string(), reason: c.string() };
    case control.losses: return readLosses(c);
    case control.bye: return { control: 'bye', status: c.u16(), reason: c.string() };
    case control.gone: return { control: 'gone', id: c.u16() };
    default: return { control: 'unknown', kind }; // a later server's
  }
}

function readGreeting(c) {
  const greeting = { control: 'greeting', reason: c.string() };
  c.u16(); // options, none over WebSocket
  c.u32(); // the longest payload: the browser has its own limit
  greeting.beat = c.u32();
  greeting.instance = String(c.u64());
  greeting.streams = Array.from({ length: c.u16() }, () => readDescription(c));
  return greeting;
}

function readDescription(c) {
  const id = c.u16();
  const latched = (c.u16() & 1) !== 0;
  const typeId = c.u32();
  const [name, sensor, sensorType, type, encoding, language] = Array.from({ length: 6 }, () => c.string());
  return { id, latched, typeId, name, sensor, sensorType, type, encoding, language, definition: c.text(c.u32()) };
}

function readLosses(c) {
  const causes = ['slow', 'gone', 'ended'];
  const lost = Array.from({ length: c.u16() }, () => ({ name: c.string(), dropped: Number(c.u64()), cause: causes[c.u8()] ?? 'other' }));
  return { control: 'losses', lost };
}

// readEnvelope reads what comes before a message's body. Times are seconds of simulation time; a double
// has them to a microsecond for a century.
function readEnvelope(c) {
  const start = c.at;
  const sequence = Number(c.u64());
  const frame = Number(c.u64());
  const stamp = Number(c.i64()) / 1e9;
  const published = Number(c.i64()) / 1e9;
  const position = [c.f64(), c.f64(), c.f64()];
  const orientation = [c.f64(), c.f64(), c.f64(), c.f64()];
  const known = (c.u16() & 1) !== 0;
  const length = c.u16();
  const frameId = c.text(length);
  const body = start + 92 + Math.ceil(length / 8) * 8;
  return { sequence, frame, stamp, published, pose: known ? { position, orientation } : null, frameId, body };
}
