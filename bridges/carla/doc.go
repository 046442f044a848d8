// Package carla is the bridge named "carla": it serves each sensor's data as CARLA
// 0.9.15's simulator does, so that CARLA's streaming client code reads it.
//
// # Usage
//
// The connection string is [HOST:]PORT, 127.0.0.1:2001 where nothing is said. A client
// opens one TCP connection a stream and sends the stream's id, four bytes; from then
// on it receives frames: a length, a header of 48 bytes, a body. Stream 1 is the world
// snapshot, then each sensor has one in the order of the rig. Directory lists ids and
// the 24-byte tokens that CARLA's clients are given.
//
// There is no RPC server: a client that asks CARLA's port 2000 for tokens takes them
// from here instead.
//
// # Layout
//
// Everything is little endian. A frame is a length, u32, of the bytes that follow it: a
// header and a body. The header is packed:
//
//	 0  u64    type id: a sensor's number in CARLA 0.9.15's registry (types.go)
//	 8  u64    frame: equal in all that was captured at one instant
//	16  f64    capture time, simulated seconds
//	24  3 f32  location of the sensor in the map, metres
//	36  3 f32  pitch, yaw, roll, degrees
//	48         the body
//
// A file each has the kinds of body, as LibCarla's serializers write them; MessagePack
// bodies are arrays. docs/carla-streams.md has all of them as tables, and a client in
// Python. Axes are Unreal Engine's: x forward, y right, z up, metres (axes.go). The ego
// is actor EgoID. A client that asks for a stream that there isn't is disconnected. A frame
// of 4 GiB or more has no length, and is bridges.ErrTooLarge.
//
// # Concurrency
//
// Publishers may be called from any goroutine; sensors/stream/fanout has the clients.
// Connect and Disconnect wait for one another.
//
// # Slow clients and counts
//
// Each client has a queue, which the options messages and bytes bound, and policy says
// what goes when it is full; CARLA drops the newest without a word. A message counts as
// sent when some client has it, and as dropped, under the cause, when some client
// misses it: with several clients it can be both, with one it is either. What nobody
// reads isn't encoded, and is not_connected if it was published nevertheless.
//
// # What CARLA has and this has not
//
// Camera pictures in other encodings than CARLA's are converted; an instance picture
// without tags has tag 0. Lidar scans are whole turns, not what was swept in a frame. A
// lane invasion is computed by CARLA's client from snapshots and its map, and has no
// stream.
package carla
