// Package cyber is the bridge to Baidu's Apollo: a client of the cyber_bridge that runs
// beside Apollo and hands messages on to Cyber RT.
//
// # Connection string
//
//	cyber:HOST[:9090][?apollo=7|8&origin=LATITUDE,LONGITUDE[,ALTITUDE]&retry=3s&backoff=2&longest=30s&attempts=0&messages=64&bytes=67108864]
//
// apollo says under which paths the descriptors are registered: modules/drivers/proto/...
// (7, the default, for Apollo up to 7) or modules/common_msgs/... (8, for Apollo from 8 on).
// origin places the map's origin on the earth, WGS84; without it the scene's holds. The
// others are those of all client bridges: when to connect again, and how much may wait for
// the peer.
//
// # Protocol
//
// TCP, little endian, ops of one byte; nothing is acknowledged. For each published topic
// the bridge registers the descriptors of its message and adds a writer, in one write,
// and again on every connection; for each subscription it adds a reader. A message is
// encoded straight into the buffer that is written. Each op is written whole. What
// arrives may be up to 64 MiB; an op other than a message ends the connection.
//
// The messages and what they are made of are package bridges/internal/apollo's.
package cyber
