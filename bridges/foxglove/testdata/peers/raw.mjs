// raw.mjs URL [rubbish]: speaks the subprotocol foxglove.sdk.v1 by the specification alone,
// upon npm's ws: subscribes to every channel and prints what arrives. With "rubbish" it
// sends frames that make no sense.
import { createRequire } from "node:module";
const require = createRequire(process.env.PEERS + "/");
const WebSocket = require("ws");
const [url, rubbish] = process.argv.slice(2);
const ws = new WebSocket(url, ["foxglove.sdk.v1"]);
const topics = new Map();
const say = (line) => console.log(JSON.stringify(line));
ws.on("open", () => say({ protocol: ws.protocol }));
ws.on("error", (e) => { console.log("ERROR", e.message); process.exit(1); });
ws.on("close", (code) => { console.log("closed", code); process.exit(0); });
ws.on("message", (data, binary) => {
  if (!binary) {
    const message = JSON.parse(data);
    if (message.op !== "advertise") return say(message);
    const subscriptions = message.channels.map((c) => ({ id: 4294967295 - c.id, channelId: c.id }));
    for (const c of message.channels) topics.set(4294967295 - c.id, c.topic);
    ws.send(JSON.stringify({ op: "subscribe", subscriptions }));
    if (rubbish) {
      for (const text of ["{", "[1]", '{"op":"no"}', '{"op":"subscribe","subscriptions":{}}']) ws.send(text);
      for (const bytes of [[], [1], [2, 0, 0], [200, 1, 2, 3], [2, 1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255]]) ws.send(Buffer.from(bytes));
    }
    return say({ subscribed: message.channels.map((c) => c.topic) });
  }
  switch (data[0]) {
    case 1: return say({ topic: topics.get(data.readUInt32LE(1)), time: String(data.readBigUInt64LE(5)), bytes: data.length - 13 });
    case 2: return say({ clock: String(data.readBigUInt64LE(1)) });
    default: console.log("ERROR opcode", data[0]);
  }
});
