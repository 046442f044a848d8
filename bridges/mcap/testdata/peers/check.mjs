// usage: node check.mjs FILE...
//
// Reads MCAP files with the official JavaScript reader, twice: from front to back with all
// checksums, and through the index. Every message is decoded with the schema that lies in
// the file, by libraries of others. Prints one line of JSON for each message,
//   {"topic", "schema", "encoding", "sequence", "logTime", "publishTime", "value"}
// with times as text and arrays of numbers as {"n", "sha256"} of their bytes, then "VALID";
// or what is wrong, and ends with status 1.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.PEERS + '/');
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const { McapIndexedReader, McapStreamReader } = await load('@mcap/core');
const { FileHandleReadable } = await load('@mcap/nodejs');
const { loadDecompressHandlers, protobufFromBinaryDescriptor } = await load('@mcap/support');
const { parse } = await load('@foxglove/rosmsg');
const { MessageReader: Ros2Reader } = await load('@foxglove/rosmsg2-serialization');
const { MessageReader: Ros1Reader } = await load('@foxglove/rosmsg-serialization');

const decompressHandlers = await loadDecompressHandlers();
const say = (line) => fs.writeSync(1, line + '\n');
let faults = 0;
const fail = (text) => {
  faults++;
  say('FAULT ' + text);
};

// decoderOf returns what decodes a channel's messages, by its own schema.
function decoderOf(channel, schema) {
  const kind = channel.messageEncoding + '/' + schema.encoding;
  const text = () => new TextDecoder().decode(schema.data);
  if (kind === 'cdr/ros2msg') {
    const reader = new Ros2Reader(parse(text(), { ros2: true }));
    return (data) => reader.readMessage(data);
  }
  if (kind === 'ros1/ros1msg') {
    const reader = new Ros1Reader(parse(text()));
    return (data) => reader.readMessage(data);
  }
  if (kind === 'protobuf/protobuf') {
    const type = protobufFromBinaryDescriptor(schema.data).lookupType(schema.name);
    return (data) => {
      const message = type.decode(data);
      const wrong = type.verify(message);
      if (wrong) throw new Error(wrong);
      return type.toObject(message, { defaults: true, longs: String, enums: String });
    };
  }
  throw new Error(`no decoder for ${channel.topic}: ${kind}`);
}

const plain = (key, value) => {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (value?.type === 'Buffer' && Array.isArray(value.data)) value = Uint8Array.from(value.data);
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return { n: value.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  return value;
};

// linear reads from front to back and returns the number of messages.
async function linear(file) {
  const reader = new McapStreamReader({ includeChunks: true, decompressHandlers, validateCrcs: true });
  let messages = 0;
  for await (const bytes of fs.createReadStream(file, { highWaterMark: 1 << 20 })) {
    reader.append(bytes);
    for (let record; (record = reader.nextRecord()); ) if (record.type === 'Message') messages++;
  }
  if (!reader.done()) fail('the file is not complete');
  return messages;
}

async function indexed(file, handle) {
  const reader = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  say(JSON.stringify({ profile: reader.header.profile, library: reader.header.library, chunks: reader.chunkIndexes.length }));
  const decoders = new Map();
  for (const channel of reader.channelsById.values())
    decoders.set(channel.id, decoderOf(channel, reader.schemasById.get(channel.schemaId)));
  let messages = 0;
  let last = 0n;
  for await (const m of reader.readMessages({ validateCrcs: true })) {
    const channel = reader.channelsById.get(m.channelId);
    const schema = reader.schemasById.get(channel.schemaId);
    if (m.logTime < last) fail(`log time goes back at ${m.logTime}`);
    last = m.logTime;
    messages++;
    const value = decoders.get(m.channelId)(m.data);
    say(JSON.stringify({
      topic: channel.topic, schema: schema.name, encoding: channel.messageEncoding, sequence: m.sequence,
      logTime: m.logTime, publishTime: m.publishTime, value,
    }, plain));
  }
  if (reader.statistics?.messageCount !== BigInt(messages)) fail(`statistics say ${reader.statistics?.messageCount}, read ${messages}`);
  return messages;
}

for (const file of process.argv.slice(2)) {
  const handle = await open(file, 'r');
  try {
    const counts = [await linear(file), await indexed(file, handle)];
    if (counts[0] !== counts[1]) fail(`${counts[0]} messages from front to back, ${counts[1]} by the index`);
  } catch (e) {
    fail(`${file}: ${e.stack}`);
  }
  await handle.close();
}
say(faults ? `INVALID (${faults})` : 'VALID');
process.exit(faults ? 1 : 0);
