// Package ros2lgsvl is the bridge "ros2lgsvl": a client of ros2-lgsvl-bridge, the program
// by which SVL Simulator reached ROS 2. It speaks that program's protocol over TCP, byte
// by byte as SVL did, with SVL's faults left out.
//
// # Connection
//
//	ros2lgsvl:HOST[:9090][?messages=N][&bytes=N][&retry=3s][&backoff=F][&longest=30s][&attempts=N]
//
// The bridge dials, and dials again every retry when it is refused or the connection is
// lost; backoff multiplies that time up to longest, and after attempts in vain, if it is
// above 0, the bridge gives up. Its queue holds so many messages and bytes (64 and
// 64 MiB); when it is full the topic's policy decides.
//
// # Protocol
//
// All numbers are little endian. Registrations go first on each connection:
//
//	1 AddSubscriber  u8 op, u32 length, topic, u32 length, type "package/Name"
//	2 AddPublisher   u8 op, u32 length, topic, u32 length, type
//	3 Publish        u8 op, u32 length, topic, u32 length, message
//
// and op 3 in both directions afterwards. A message is its fields in the definition's
// order, without padding: a string is its length as u32 and its bytes, every array, also
// one of fixed size, its length as u32 and its elements. Package bridges/internal/lgsvlwire
// has the details.
//
// # Types
//
// Messages are those of package rossample's SVL table. What differs from SVL: CameraInfo
// has its height before its width, as the definition says; times are whole nanoseconds; a
// cloud's points have their time, and the padding between them is zero.
//
// A topic is a name that ROS 2 allows, with or without a leading slash;
// ros2-lgsvl-bridge puts one without into its own namespace, /lgsvl.
package ros2lgsvl
