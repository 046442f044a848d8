// A client of a rosbridge server: npm's roslib.
//
//   node roslib.mjs subscribe URL COUNT [none|cbor|cbor-raw ...]   prints all topics in all forms
//   node roslib.mjs command URL                                    publishes and calls
//   node roslib.mjs rosapi URL                                     asks all that rosapi answers
//   node roslib.mjs talk URL                                       to a server that has nothing of its own
//   node roslib.mjs watch URL TOPIC TYPE                           prints a line for each message
//   node roslib.mjs rubbish URL                                    sends nonsense, prints the complaints
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.PEERS + "/");
const roslib = await import(pathToFileURL(process.env.PEERS + "/node_modules/roslib/dist/RosLib.js").href);
const { parse } = require("@foxglove/rosmsg");
const { MessageReader } = require("@foxglove/rosmsg-serialization");

const [mode, url, ...rest] = process.argv.slice(2);

async function connect() {
  const ros = new roslib.Ros();
  ros.on("error", () => {});
  for (;;) {
    try {
      await new Promise((resolve, reject) => {
        ros.once("connection", resolve);
        ros.once("close", () => reject(new Error("closed")));
        ros.connect(url).catch?.(reject);
      });
      return ros;
    } catch {
      await new Promise((r) => setTimeout(r, 50));
    }
  }
}

const ask = (ros, name, ...args) => new Promise((resolve, reject) => ros[name](...args, resolve, reject));
const call = (ros, name, serviceType, request) =>
  new Promise((resolve, reject) => new roslib.Service({ ros, name, serviceType }).callService(request, resolve, reject));

// plain makes JSON of what roslib and the serialized message have: bytes are base64, typed
// arrays arrays, and what isn't finite is its name.
function plain(v) {
  if (typeof v === "bigint") return Number(v);
  if (typeof v === "number") return Number.isFinite(v) ? v : String(v);
  if (v instanceof Uint8Array) return Buffer.from(v).toString("base64");
  if (ArrayBuffer.isView(v)) return Array.from(v, plain);
  if (Array.isArray(v)) return v.map(plain);
  if (v && typeof v === "object") return Object.fromEntries(Object.entries(v).map(([k, e]) => [k, plain(e)]));
  return v;
}

async function subscribe() {
  const [count, ...forms] = rest;
  const ros = await connect();
  const { topics, types, typedefs_full_text: definitions } = await ask(ros, "getTopicsAndRawTypes");
  const got = new Map(); // topic -> form -> message
  await new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`only ${[...got].filter(([, m]) => m.size === forms.length).length} topics`)), 100000);
    const take = (topic, form, message) => {
      if (!got.has(topic)) got.set(topic, new Map());
      if (!got.get(topic).has(form)) got.get(topic).set(form, message);
      if (got.size === +count && [...got.values()].every((m) => m.size === forms.length)) {
        clearTimeout(timer);
        done();
      }
    };
    for (const form of forms) {
      connect().then((own) => {
        topics.forEach((name, i) => {
          new roslib.Topic({ ros: own, name, messageType: types[i], compression: form }).subscribe((m) => take(name, form, m));
        });
      }, fail);
    }
    console.log("subscribing");
  });
  topics.forEach((topic, i) => {
    const messages = [...got.get(topic)].map(([form, m]) => {
      if (form !== "cbor-raw") return [form, plain(m)];
      const reader = new MessageReader(parse(definitions[i]));
      return [form, plain(reader.readMessage(new Uint8Array(m.bytes)))];
    });
    console.log("message " + JSON.stringify({ topic, type: types[i], forms: Object.fromEntries(messages) }));
  });
  ros.close();
  process.exit(0);
}

async function command() {
  const ros = await connect();
  const cmd = new roslib.Topic({ ros, name: "/cmd_vel", messageType: "geometry_msgs/Twist" });
  cmd.publish({ linear: { x: 1.5, y: 0, z: 0 }, angular: { x: 0, y: 0, z: -0.25 } });
  const control = new roslib.Topic({ ros, name: "/control", messageType: "lgsvl_msgs/VehicleControlData" });
  control.publish({ acceleration_pct: 0.5, braking_pct: 0, target_wheel_angle: 0.25, target_wheel_angular_rate: 0, target_gear: 1 });
  const show = (name, v) => console.log(name + " " + JSON.stringify(v));
  show("light", await call(ros, "/light", "std_srvs/SetBool", { data: true }));
  show("reset", await call(ros, "/reset", "std_srvs/Empty", {}));
  show("shoot", await call(ros, "/shoot", "std_srvs/Trigger", {}).catch((reason) => ({ reason })));
  show("topics", await ask(ros, "getTopics"));
  show("services", await ask(ros, "getServices"));
  show("nodes", await ask(ros, "getNodes"));
  show("type", await ask(ros, "getTopicType", "/cmd_vel"));
  show("for type", await ask(ros, "getTopicsForType", "geometry_msgs/Twist"));
  show("service type", await ask(ros, "getServiceType", "/light"));
  ros.close();
  console.log("done");
  process.exit(0);
}

// rosapi prints the answer of each of rosapi's services: by roslib's method where it has one,
// else as a call.
async function rosapi() {
  const ros = await connect();
  const show = (name, v) => console.log(name + " " + JSON.stringify(v));
  show("topics", await ask(ros, "getTopics"));
  show("topic_type", await ask(ros, "getTopicType", "/clock"));
  show("topics_for_type", await ask(ros, "getTopicsForType", "geometry_msgs/Twist"));
  show("topics_and_raw_types", await ask(ros, "getTopicsAndRawTypes"));
  show("services", await ask(ros, "getServices"));
  show("service_type", await ask(ros, "getServiceType", "/light"));
  show("services_for_type", await ask(ros, "getServicesForType", "std_srvs/Empty"));
  show("nodes", await ask(ros, "getNodes"));
  show("node_details", await ask(ros, "getNodeDetails", "/raybridge"));
  show("publishers", await call(ros, "/rosapi/publishers", "rosapi/Publishers", { topic: "/clock" }));
  show("subscribers", await call(ros, "/rosapi/subscribers", "rosapi/Subscribers", { topic: "/cmd_vel" }));
  show("get_time", await call(ros, "/rosapi/get_time", "rosapi/GetTime", {}));
  console.log("done");
  process.exit(0);
}

// talk offers a service, publishes, and prints what it receives in two forms and what the
// service that it offers answers to another connection.
async function talk() {
  const [ros, other, third] = [await connect(), await connect(), await connect()];
  const options = { name: "/chatter", messageType: "std_msgs/Float32" };
  const service = new roslib.Service({ ros, name: "/light", serviceType: "std_srvs/SetBool" });
  await service.advertise((request, response) => {
    response.success = request.data;
    response.message = "from roslib";
    return true;
  });
  const seen = (form) => new Promise((resolve) => {
    const own = form === "none" ? other : third;
    new roslib.Topic({ ros: own, ...options, compression: form }).subscribe((m) => resolve(form + " " + JSON.stringify(plain(m))));
  });
  const both = Promise.all([seen("none"), seen("cbor")]);
  const out = new roslib.Topic({ ros, ...options });
  out.advertise();
  const timer = setInterval(() => out.publish({ data: 1.5 }), 20);
  for (const line of await both) console.log(line);
  clearInterval(timer);
  console.log("light " + JSON.stringify(await call(other, "/light", "std_srvs/SetBool", { data: true })));
  console.log("done");
  process.exit(0);
}

async function watch() {
  const [name, messageType] = rest;
  let ros = await connect();
  const topic = new roslib.Topic({ ros, name, messageType, compression: "cbor" });
  topic.subscribe(() => console.log("message"));
  ros.on("close", () => {
    console.log("closed");
    setTimeout(() => ros.connect(url).catch?.(() => {}), 50);
  });
  console.log("watching");
}

// rubbish sends what roslib never would, and asks then as if nothing had been.
async function rubbish() {
  const ros = await connect();
  let complaints = 0;
  ros.on("status", ({ level, msg }) => console.log(`complaint ${++complaints} ${level} ${msg}`));
  for (const frame of [
    7, [], {}, { op: 7 }, { op: "dance" }, { op: "subscribe" }, { op: "subscribe", topic: ["/imu"], type: 1 },
    { op: "publish", topic: "/cmd_vel", msg: 3 }, { op: "publish", topic: "/cmd_vel", msg: { linear: "fast" } }, { op: "publish", topic: "/none", msg: {} },
    { op: "call_service", service: null }, { op: "fragment", id: "x", data: "{", num: 3, total: 2 }, { op: "unadvertise", topic: "/none" },
  ])
    ros.callOnConnection(frame);
  console.log("topics " + JSON.stringify(await ask(ros, "getTopics")));
  const cmd = new roslib.Topic({ ros, name: "/cmd_vel", messageType: "geometry_msgs/Twist" });
  cmd.publish({ linear: { x: 1.5, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0 } });
  await ask(ros, "getTopics"); // which is answered after it
  console.log(`done after ${complaints} complaints`);
  process.exit(0);
}

await { subscribe, command, rosapi, talk, watch, rubbish }[mode]();
