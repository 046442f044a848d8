// Package ros2dds is the bridge "ros2dds": it publishes on ROS 2's own wire, DDS, through
// Cyclone DDS's C library, so that ROS 2 nodes on the network see raybridge as a node.
//
// # Building
//
// The bridge needs cgo, the library (Debian: cyclonedds-dev) and the build tag ros2dds:
// "make build-ros2dds". A program that is built without them knows the bridge and its types, and
// opening one is bridges.ErrNotBuilt.
//
// # Connection
//
//	ros2dds:[DOMAIN][?node=NAME][&namespace=/NAME][&ros=humble][&messages=N][&bytes=N]
//	        [&retry=3s][&backoff=F][&longest=30s][&attempts=N]
//
// Without a domain it is that of ROS_DOMAIN_ID, or 0. The node is called raybridge, in
// the namespace /. Nodes of ROS 2 Humble and before see node names only with ros=humble:
// later versions say them in another form.
//
// DDS has no peer to connect to: the bridge is Connected as soon as it takes part in the
// domain, and finds readers and writers as they come and go. A domain that can't be
// joined ([ErrSettings], [ErrDomain]) is tried again every 3 s without end, or as the
// options say; Connect returns without an error meanwhile.
//
// # On the wire
//
// A topic "/points" is the DDS topic "rt/points", a type "sensor_msgs/msg/PointCloud2"
// the DDS type "sensor_msgs::msg::dds_::PointCloud2_" (design.ros2.org, "Topic and
// Service name mapping to DDS"). Messages are plain CDR, little endian. Each
// endpoint says the hash of its type (REP-2011), the participant its enclave, and
// "ros_discovery_info" which endpoints are the node's, as rmw_dds_common has it.
//
// # Services
//
// A service "/sim/set" is the DDS topics "rq/sim/setRequest" and "rr/sim/setReply". Requests
// and replies have a header before their fields, as rmw_cyclonedds has it; clients on
// rmw_fastrtps, which has none, can't call them. A connection answers calls one by one on
// a goroutine of its own.
//
// # Who listens
//
// [bridges.Audience]: a sensor computes for a topic that has a matched reader. Topics
// that are kept for late joiners (TransientLocal, such as /tf_static) are always listened
// to. A message on another topic without readers isn't even encoded; it counts as not_connected.
//
// Readers that ask for more than a topic's quality of service offers, and writers that
// offer less than a subscription asks for, are none in DDS. The library's threads count
// them; a goroutine of the connection looks once a second, and logs each topic and policy
// once. Diagnosis has all of them ([ErrIncompatibleQoS]).
//
// # Queues
//
// A publisher encodes its message into memory of the library's and queues it; one
// goroutine of the connection gives what is queued to the library, in order. The queue
// is bounded by messages (64) and bytes (64 MiB), and the topic's policy says what
// happens when it is full: by default the oldest message goes. The library doesn't wait
// for readers of a topic whose history keeps the last messages: what a
// slow reader hasn't got is replaced by what is newer, as ROS 2 defines it. A topic that
// keeps all messages (KeepAll) waits for its readers, 1 s a message at the most, and so has a
// queue and a goroutine of its own. What isn't written in time counts as peer_slow.
//
// # Settings of the library
//
// Fragments are 65,000 bytes, messages up to 65,500, socket buffers up to 8 MiB: with the
// library's own defaults messages of 8 MB lose fragments faster than they are repaired.
// The file or the XML that the environment variable CYCLONEDDS_URI names has precedence.
// ROS_LOCALHOST_ONLY=1 keeps to the loopback interface.
package ros2dds
