// CDR, as ROS 2 has it in its messages: numbers lie at multiples of their size, counted from behind the four
// bytes at the beginning. docs/stream-protocol.md has the rules.

const arrays = {
  int8: Int8Array, uint8: Uint8Array, byte: Uint8Array, char: Uint8Array, bool: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array, int64: BigInt64Array, uint64: BigUint64Array,
};

const utf8 = new TextDecoder();

// readMessage returns the message at a place of a buffer as an object. Arrays of numbers are typed arrays
// that share the buffer's memory; integers beyond 2^53 are BigInts. It throws a RangeError where the
// bytes end too early, before anything large is made.
export function readMessage(fields, buffer, at) {
  const view = new DataView(buffer, at);
  if (view.getUint16(0) !== 1) throw new RangeError('the body is no little-endian CDR');
  return readFields(new Reader(buffer, at + 4), fields);
}

class Reader {
  constructor(buffer, origin) {
    this.buffer = buffer;
    this.origin = origin; // what alignment counts from
    this.at = origin;
    this.view = new DataView(buffer);
  }
  // take returns where the next n bytes lie that begin at a multiple of a size.
  take(n, size) {
    const start = this.at + ((this.origin - this.at) & (size - 1));
    if (start + n > this.buffer.byteLength) throw new RangeError('the message ends too early');
    this.at = start + n;
    return start;
  }
  number(type, size) {
    const at = this.take(size, size);
    const v = this.view;
    switch (type) {
      case 'bool': return v.getUint8(at) !== 0;
      case 'int8': return v.getInt8(at);
      case 'int16': return v.getInt16(at, true);
      case 'uint16': return v.getUint16(at, true);
      case 'int32': return v.getInt32(at, true);
      case 'uint32': return v.getUint32(at, true);
      case 'float32': return v.getFloat32(at, true);
      case 'float64': return v.getFloat64(at, true);
      case 'int64': return plain(v.getBigInt64(at, true));
      case 'uint64': return plain(v.getBigUint64(at, true));
      default: return v.getUint8(at); // uint8, byte, char
    }
  }
  string() {
    const length = this.number('uint32', 4); // with the NUL
    const at = this.take(length, 1);
    return utf8.decode(new Uint8Array(this.buffer, at, Math.max(0, length - 1)));
  }
  numbers(type, size, length) {
    if (length === 0) return new arrays[type]();
    const at = this.take(length * size, size);
    if (at % size === 0) return new arrays[type](this.buffer, at, length);
    return new arrays[type](this.buffer.slice(at, at + length * size));
  }
}

function plain(big) {
  const n = Number(big);
  return Number.isSafeInteger(n) ? n : big;
}

function readFields(r, fields) {
  const message = {};
  if (fields.length === 0) r.take(1, 1); // ROS gives a message without fields a byte
  for (const field of fields) message[field.name] = readField(r, field);
  return message;
}

function readField(r, field) {
  if (field.length === undefined) return readOne(r, field);
  const length = field.length >= 0 ? field.length : r.number('uint32', 4);
  if (field.size) return r.numbers(field.type, field.size, length);
  // Each element has a byte at least, so that a length that lies makes nothing large.
  if (length > r.buffer.byteLength - r.at) throw new RangeError('the message ends too early');
  return Array.from({ length }, () => readOne(r, field));
}

function readOne(r, field) {
  if (field.size) return r.number(field.type, field.size);
  return field.fields ? readFields(r, field.fields) : r.string();
}
