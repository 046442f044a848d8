// Package rosbridge is the bridge named "rosbridge": it speaks rosbridge's protocol
// (rosbridge_suite, ROSBRIDGE_PROTOCOL.md, version 2) over WebSockets, as a client of a
// rosbridge server or as a server of its own.
//
// # Client
//
// The connection string is
//
//	[ws://|wss://]HOST[:PORT][?option=value&...]
//
// with port 9090 by default. Messages are published as JSON in text frames, or as BSON
// with bson=1 for servers of ROS 1 in bson_only_mode. What is subscribed to comes as JSON, CBOR
// (the default) or cbor-raw (subscribe=json|cbor|cbor-raw). ros=1, the default, is for
// servers of ROS 1 and ros=2 for those of ROS 2: they differ in the names of types
// ("sensor_msgs/Image" and "sensor_msgs/msg/Image") and of some fields (secs, nsecs, seq
// and sec, nanosec; D, K, R, P and d, k, r, p).
//
// # Server
//
// The connection string is
//
//	listen=[HOST:]PORT[?option=value&...]
//
// Web pages and programs that use roslib connect to it as to rosbridge_server: they
// subscribe to the sensors' topics (compression none, cbor and cbor-raw), publish commands,
// call the services that are offered and ask rosapi what there is. A message is encoded
// once for each form that somebody wants, and shared by the clients. Each client has a
// bounded queue of its own; one that is slow loses messages, and costs the others nothing.
//
// # Messages
//
// The types are those that SVL Simulator's users expect (package rossample's SVL). With
// gps=nmea a GnssFix is published as two nmea_msgs/Sentence, as SVL does, else as
// sensor_msgs/NavSatFix. For NaN and infinities a client writes the words NaN,
// Infinity and -Infinity, which rosbridge's servers read, or what nonfinite= says. A server
// writes null, which browsers read. Frames above max_message_size go in fragments, unless
// fragments=off drops them. Topics whose durability is transient local are latched.
//
// # Goroutines
//
// A client has one that dials and writes, one that reads and one for each service; a
// server one that accepts, two for each client and one for each service. They have ended
// when Disconnect returns. Publishers encode on their own goroutine, never waiting for
// a peer, and subscribers are called on the reading goroutines.
//
// # Known gaps
//
// PNG compression and authentication are refused. Actions of ROS 2 are not spoken. A
// server's fragment_size is not heeded: WebSockets need no fragments.
package rosbridge
