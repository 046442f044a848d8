// Message definitions in the language that MCAP calls ros2msg: a type's .msg text, then those of the types
// that it is made of, each behind a line of '=' and one "MSG: package/Type".

const sizes = {
  bool: 1, byte: 1, char: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, float32: 4,
  int64: 8, uint64: 8, float64: 8,
};

// parseDefinition returns the fields of a type, given its full name ("sensor_msgs/msg/Imu") and its definition. A
// field is {name, type, size, fields, length}: size in bytes for numbers, 0 for strings; fields of a message;
// length is undefined for one value, -1 for a sequence, and else an array's.
export function parseDefinition(typeName, text) {
  const parts = new Map();
  for (const [i, part] of text.split(/^=+\r?\n/m).entries()) {
    const lines = part.split('\n').map((line) => line.replace(/#.*/, '').trim()).filter(Boolean);
    const name = i === 0 ? typeName.replace('/msg/', '/') : lines.shift()?.replace(/^MSG:\s*/, '').replace('/msg/', '/');
    if (name) parts.set(name, lines);
  }
  const done = new Map();
  const fieldsOf = (name) => {
    if (!done.has(name)) {
      const lines = parts.get(name);
      if (!lines) throw new Error(`the definition of ${typeName} lacks ${name}`);
      const fields = [];
      done.set(name, fields); // before its parts: a type that holds itself is an error of the sender's, not a loop here
      for (const line of lines) {
        const field = parseField(line, name, fieldsOf);
        if (field) fields.push(field);
      }
    }
    return done.get(name);
  };
  return fieldsOf(typeName.replace('/msg/', '/'));
}

// parseField reads one line. Constants, which have no bytes, give null.
function parseField(line, within, fieldsOf) {
  const match = /^([\w/]+)(<=\d+)?(\[(<=)?(\d*)\])?\s+(\w+)\s*(=)?/.exec(line);
  if (!match) throw new Error(`can't read the line "${line}" of ${within}`);
  const [, type, , array, upTo, count, name, constant] = match;
  if (constant) return null;
  const field = { name, type, size: sizes[type] ?? 0 };
  if (array) field.length = count && !upTo ? Number(count) : -1;
  if (!field.size && type !== 'string') {
    const full = type.includes('/') ? type.replace('/msg/', '/') : `${within.split('/')[0]}/${type}`;
    field.fields = fieldsOf(full);
  }
  return field;
}
