// page.mjs MODULES ADDRESS: reads a run's streams from /ws with the live page's modules, steps the run, and compares what they
// decode with what Foxglove's packages decode. It prints a line for each message type that agreed, and FAULT with the first
// difference otherwise.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const peers = createRequire(`${process.env.PEERS}/`);
const { parse } = peers('@foxglove/rosmsg');
const { MessageReader } = peers('@foxglove/rosmsg2-serialization');
const WebSocket = peers('ws');

const [modules, address] = process.argv.slice(2);
const ours = (name) => import(pathToFileURL(path.join(modules, name)));
const { readFrame } = await ours('wire.js');
const { parseDefinition } = await ours('ros2msg.js');
const { readMessage } = await ours('cdr.js');

const say = (line) => fs.writeSync(1, `${line}\n`);
const streams = new Map();
const agreed = new Set();

// differs returns where two values differ, '' where they don't. Numbers beyond 2^53 are BigInts in one of them or both.
function differs(a, b, at) {
  if (typeof a === 'bigint' || typeof b === 'bigint') return BigInt(a) === BigInt(b) ? '' : `${at}: ${a}, not ${b}`;
  if (a === null || typeof a !== 'object') return Object.is(a, b) ? '' : `${at}: ${a}, not ${b}`;
  if (ArrayBuffer.isView(a) || Array.isArray(a)) {
    if (a.length !== b.length) return `${at}: ${a.length} elements, not ${b.length}`;
    for (let i = 0; i < a.length; i++) {
      const found = typeof b[i] === 'boolean' ? differs(Boolean(a[i]), b[i], `${at}[${i}]`) : differs(a[i], b[i], `${at}[${i}]`);
      if (found) return found;
    }
    return '';
  }
  const keys = Object.keys(b).filter((k) => !('nanosec' in a && k === 'nsec'));
  if (keys.length < Object.keys(a).length) return `${at}: fields ${Object.keys(a)}, not ${keys}`;
  return keys.map((k) => differs(a[k], b[k], `${at}.${k}`)).find(Boolean) ?? '';
}

function describe(s) {
  streams.set(s.id, { ...s, fields: parseDefinition(s.type, s.definition), reader: new MessageReader(parse(s.definition, { ros2: true }), { timeType: 'sec,nanosec' }) });
}

function compare(frame, buffer) {
  const s = streams.get(frame.stream);
  const message = readMessage(s.fields, buffer, frame.body);
  const found = differs(message, s.reader.readMessage(new Uint8Array(buffer, frame.body)), s.type);
  if (found) {
    say(`FAULT ${found}`);
    process.exit(1);
  }
  agreed.add(s.type);
  socket.send(JSON.stringify({ credit: { stream: frame.stream, n: 1 } }));
}

const socket = new WebSocket(`${address.replace('http', 'ws')}ws`);
socket.binaryType = 'arraybuffer';
socket.on('open', () => socket.send(JSON.stringify({ token: '', version: 1 })));
socket.on('message', (data, binary) => {
  if (!binary) throw new Error(`the server says ${data}`);
  const frame = readFrame(data);
  if (frame.control === 'greeting') {
    frame.streams.forEach(describe);
    for (const { name } of frame.streams) socket.send(JSON.stringify({ subscribe: name }));
  } else if (frame.control === 'message') compare(frame, data);
});

// The run is stepped until nothing new has come for a while.
await new Promise((done) => { socket.on('open', () => setTimeout(done, 500)); });
for (let still = 0, before = -1; still < 3; still = agreed.size === before ? still + 1 : 0, before = agreed.size) {
  const answer = await fetch(`${address}v1/step`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"steps": 25, "timeout": 30}' });
  if (!answer.ok) throw new Error(await answer.text());
  await new Promise((done) => { setTimeout(done, 300); });
}
[...agreed].sort().forEach(say);
process.exit(0);
