// Package lgsvltest is a server that follows the rules of ros2-lgsvl-bridge, for the tests
// of bridge ros2lgsvl: that program itself needs ROS 2, which is not to be had there.
//
// It was written from the facts about the protocol alone, before the bridge and without
// its encoder: it reads .msg definitions with a parser of its own and takes messages apart
// by them, as ros2-lgsvl-bridge does with ROS 2's introspection.
//
// # Rules
//
// All numbers are little endian. A client sends
//
//	1 AddSubscriber  u8 op, u32 length, topic, u32 length, type "package/Name"
//	2 AddPublisher   u8 op, u32 length, topic, u32 length, type
//	3 Publish        u8 op, u32 length, topic, u32 length, message
//
// and is sent op 3 for each message on the topics that it subscribed to. Another op is
// logged and ends the connection. The first type of a topic holds for all clients. A type
// that isn't known is logged and the registration is lost, and with it every message on
// that topic. A message is its fields in the definition's order, without padding; a string
// is its length as u32 and its bytes; every array, also one of fixed size, is its length as
// u32 and its elements. An array of fixed size has that many elements or none, in which
// case it is filled with zeros (foxy, galactic). A message with bytes left over is logged
// and published; one that is too short is logged and not published. What waits for a client
// is bounded: messages beyond that are logged and thrown away.
//
// Published messages go to the clients that subscribed to their topic, to
// [Config.Published], as a ROS 2 node would get them, and into the counts.
package lgsvltest
