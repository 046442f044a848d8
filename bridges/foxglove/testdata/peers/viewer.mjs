// viewer.mjs URL [count]: connects with npm's @foxglove/ws-protocol, subscribes to every
// channel and prints each message as a line of JSON: {topic, type, time, message}. Protobuf
// is decoded twice, by the descriptors that the server advertised and by the schemas of
// @foxglove/schemas, which must agree; CDR by the advertised ros2msg text. With "count" it
// decodes nothing and prints after each message how many each topic has brought.
import { createRequire } from "node:module";
const require = createRequire(process.env.PEERS + "/");
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const WebSocket = require("ws");
const protobuf = require("protobufjs");
require("protobufjs/ext/descriptor");
const { FileDescriptorSet } = require("protobufjs/ext/descriptor");
const { parse: parseRos } = require("@foxglove/rosmsg");
const { MessageReader } = require("@foxglove/rosmsg2-serialization");
const internal = process.env.PEERS + "/node_modules/@foxglove/schemas/dist/internal/";
const { foxgloveMessageSchemas, foxgloveEnumSchemas } = require(internal + "schemas.js");
const { generateProto } = require(internal + "generateProto.js");

const [url, mode] = process.argv.slice(2);

// reference has the types of @foxglove/schemas.
const reference = new protobuf.Root();
for (const name of ["timestamp", "duration"]) {
  const seconds = { fields: { seconds: { type: "int64", id: 1 }, nanos: { type: "int32", id: 2 } } };
  const type = name[0].toUpperCase() + name.slice(1);
  if (!reference.lookup("google.protobuf." + type)) reference.define("google.protobuf").add(protobuf.Type.fromJSON(type, seconds));
}
for (const schema of Object.values(foxgloveMessageSchemas)) {
  if (schema.protoEquivalent != undefined) continue;
  const enums = Object.values(foxgloveEnumSchemas).filter((e) => e.parentSchemaName === schema.name);
  const text = generateProto(schema, enums).replace(/^import .*$/gm, "");
  protobuf.parse(text, reference, { keepCase: true });
}

// advertised returns the type that a channel's own schema describes.
function advertised(channel) {
  const set = FileDescriptorSet.decode(Buffer.from(channel.schema, "base64"));
  for (const file of set.file) {
    for (const field of file.messageType.flatMap((m) => m.field)) field.jsonName = ""; // keeps the names as they are
  }
  const root = protobuf.Root.fromDescriptor(set);
  return root.lookupType(channel.schemaName);
}

const options = { longs: String, enums: String, bytes: String, defaults: true, json: true };

function decoder(channel) {
  if (channel.encoding === "cdr") {
    const reader = new MessageReader(parseRos(channel.schema, { ros2: true }));
    return (data) => reader.readMessage(data);
  }
  if (channel.encoding !== "protobuf" || channel.schemaEncoding !== "protobuf") throw new Error("encoding " + channel.encoding);
  const byServer = advertised(channel);
  const byPackage = reference.lookupType(channel.schemaName);
  return (data) => {
    const ours = byPackage.toObject(byPackage.decode(data), options);
    const theirs = byServer.toObject(byServer.decode(data), options);
    const snake = JSON.stringify(canonical(theirs));
    if (JSON.stringify(canonical(ours)) !== snake) throw new Error(`${channel.topic}: the two schemas disagree: ${JSON.stringify(ours)} ${snake}`);
    return ours;
  };
}

// canonical has keys in snake case and order: libraries spell them differently.
function canonical(v) {
  if (Array.isArray(v)) return v.map(canonical);
  if (v === null || typeof v !== "object") return v;
  const key = (k) => k.replace(/[A-Z]/g, (c, i) => (i > 0 && k.length > 1 ? "_" : "") + (k.length > 1 ? c.toLowerCase() : c));
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [key(k), canonical(x)]).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const plain = (_, v) => {
  if (typeof v === "bigint" || (typeof v === "number" && !Number.isFinite(v))) return String(v);
  if (v instanceof Uint8Array) return Buffer.from(v).toString("base64");
  if (ArrayBuffer.isView(v)) return Array.from(v);
  return v;
};

const client = new FoxgloveClient({ ws: new WebSocket(url, [FoxgloveClient.SUPPORTED_SUBPROTOCOL]) });
const subscriptions = new Map();
const counts = {};
const say = (line) => console.log(JSON.stringify(line, plain));
client.on("error", (e) => { console.log("ERROR", e.message ?? e); process.exit(1); });
client.on("serverInfo", (info) => say({ serverInfo: info }));
client.on("status", (status) => say({ status }));
client.on("removeStatus", (removed) => say({ removed: removed.statusIds }));
client.on("time", (time) => { if (mode !== "count") say({ time: time.timestamp }); });
client.on("advertise", (channels) => {
  for (const channel of channels) {
    subscriptions.set(client.subscribe(channel.id), { channel, decode: mode === "count" ? undefined : decoder(channel) });
    counts[channel.topic] ??= 0;
  }
  say({ subscribed: channels.map((c) => c.topic) });
});
client.on("message", ({ subscriptionId, timestamp, data }) => {
  const { channel, decode } = subscriptions.get(subscriptionId);
  counts[channel.topic]++;
  if (mode === "count") return say({ counts });
  if (decode) say({ topic: channel.topic, type: channel.schemaName, time: timestamp, message: decode(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) });
});
client.on("close", (e) => { console.log("closed", e.code ?? "", JSON.stringify(counts)); process.exit(0); });
