// usage: node points.mjs FILE.pcap
//
// Reads the data packets of a pcap file with @foxglove/velodyne-cloud, with its own calibration of
// the model that it finds in them. Writes each point as 7 float64, little endian, to FILE.pcap.points:
// x, y, z, distance, intensity, ring, nanoseconds past the hour. Prints one line of JSON: {"model", "packets", "points"}.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.PEERS + '/');
const { Calibration, Model, PointCloud, RawPacket, Transformer } = (await import(pathToFileURL(require.resolve('@foxglove/velodyne-cloud')))).default;

const file = fs.readFileSync(process.argv[2]);
const packets = [];
for (let at = 24; at < file.length; ) {
  const size = file.readUInt32LE(at + 8);
  const packet = file.subarray(at + 16, at + 16 + size);
  at += 16 + size;
  if (packet.readUInt16BE(36) === 2368) packets.push(new RawPacket(packet.subarray(42)));
}
const model = packets[0].inferModel();
const transformer = new Transformer(new Calibration(model), { minRange: 0, maxRange: 1000 });
const out = [];
const sink = {
  addPoint: (x, y, z, distance, intensity, ring, azimuth, ns) => {
    if (distance > 0) out.push(x, y, z, distance, intensity, ring, ns);
  },
};
for (const packet of packets) transformer.unpack(packet, 0, packet.gpsTimestamp / 1e6, sink);
fs.writeFileSync(process.argv[2] + '.points', Buffer.from(new Float64Array(out).buffer));
console.log(JSON.stringify({ model: Model[model], packets: packets.length, points: out.length / 7 }));
