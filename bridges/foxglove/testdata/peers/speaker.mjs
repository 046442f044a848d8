// speaker.mjs URL: publishes commands, reads and sets parameters and calls a service with
// npm's @foxglove/ws-protocol, and prints the answers as lines of JSON.
import { createRequire } from "node:module";
const require = createRequire(process.env.PEERS + "/");
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const WebSocket = require("ws");
const { MessageWriter } = require("@foxglove/rosmsg2-serialization");
const { parse } = require("@foxglove/rosmsg");
const { MessageWriter: Ros1Writer } = require("@foxglove/rosmsg-serialization");

const client = new FoxgloveClient({ ws: new WebSocket(process.argv[2], [FoxgloveClient.SUPPORTED_SUBPROTOCOL]) });
const say = (line) => console.log(JSON.stringify(line));
const twist = (n) => ({ linear: { x: n, y: 0, z: 0 }, angular: { x: 0, y: 0, z: -n } });
const definition = "Vector3 linear\nVector3 angular\n" + "=".repeat(80) + "\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n";

client.on("error", (e) => { console.log("ERROR", e.message ?? e); process.exit(1); });
client.on("status", (status) => say({ status }));
client.on("parameterValues", (values) => say({ values }));
client.on("serviceCallResponse", (r) => say({ response: { callId: r.callId, encoding: r.encoding, data: JSON.parse(new TextDecoder().decode(r.data)) } }));
client.on("serviceCallFailure", (failure) => say({ failure: failure.message }));
client.on("advertiseServices", (services) => {
  for (const s of services) {
    say({ service: s.name, type: s.type, request: s.request, response: s.response, older: [s.requestSchema, s.responseSchema] });
    client.sendServiceCallRequest({ serviceId: s.id, callId: 9, encoding: s.request.encoding, data: new TextEncoder().encode('{"data":true}') });
  }
});
client.on("serverInfo", () => {
  const json = client.advertise({ topic: "/cmd_vel", encoding: "json", schemaName: "geometry_msgs/Twist" });
  client.sendMessage(json, new TextEncoder().encode(JSON.stringify(twist(1))));
  const cdr = client.advertise({ topic: "/cmd_vel", encoding: "cdr", schemaName: "geometry_msgs/msg/Twist", schema: definition, schemaEncoding: "ros2msg" });
  client.sendMessage(cdr, new MessageWriter(parse(definition, { ros2: true })).writeMessage(twist(2)));
  const ros1 = client.advertise({ topic: "/cmd_vel", encoding: "ros1", schemaName: "geometry_msgs/Twist", schema: definition, schemaEncoding: "ros1msg" });
  client.sendMessage(ros1, new Ros1Writer(parse(definition)).writeMessage(twist(3)));
  // What a viewer's 3D panel could publish, which nobody here waits for: no alert comes of it.
  for (const topic of ["/clicked_point", "/initialpose", "/move_base_simple/goal"])
    client.advertise({ topic, encoding: "json", schemaName: "geometry_msgs/PointStamped" });
  client.subscribeParameterUpdates(["/speed"]);
  client.getParameters(["/raybridge/seed", "/raybridge/scene"], "read");
  client.setParameters([{ name: "/speed", value: 2.5 }], "write");
});
