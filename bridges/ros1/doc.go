// Package ros1 is the bridge "ros1": a node of ROS 1 that publishes to rospy, roscpp and
// their tools over TCPROS, subscribes to commands and offers services, with no ROS
// installed.
//
// # Connection
//
//	ros1:[MASTER[:11311]][?node=/NAME][&host=IP][&messages=N][&bytes=N][&retry=3s]...
//
// MASTER is where rosmaster or roscore runs; without it ROS_MASTER_URI says so, and else it
// is this machine. Others find the node at host, or at what ROS_HOSTNAME or ROS_IP say, or
// at the address that this machine has towards the master. With an address of the loopback
// network it listens there alone, else on all networks, as rospy does. The node is called
// /raybridge, and /raybridge_2 and so on while others that live have that name; one that
// the user chose is waited for.
//
// # States
//
// Connecting until the node is registered at the master, Connected while it is,
// UnexpectedlyDisconnected from then on while the master is away. The master is asked each
// second whether it still knows the node, since one that was started anew has forgotten
// all; everything is then registered again. Connections with other nodes outlast its
// absence, but nothing is published while the bridge isn't Connected. A node that is told to
// shut down (rosnode kill) takes its registrations back and comes again.
//
// # Queues
//
// Each topic of each subscriber has a connection and a queue of its own (messages=64,
// bytes=64 MiB), whose policy is the topic's. A message is encoded once and shared. A
// subscriber that takes nothing for ten seconds is disconnected; none holds up another.
// A message counts as sent when the first subscriber's socket has taken all of it, and as
// dropped when one of them misses it: with several it can be both. A latched
// topic's message without subscribers counts as sent when it is latched.
//
// # What is goroslib's
//
// The calls of the master's and of other nodes' APIs (apimaster, apislave) and the fields of
// connection headers (protocommon, prototcp) are those of github.com/bluenviron/goroslib/v2.
// The rest is this package's own, for reasons that lie in goroslib v2.1.4's source:
//
//   - Publisher.Write queues Go structures, 64 for each subscriber whatever their size, which a
//     later goroutine serialises by reflection: memory can't be bounded in bytes or used
//     again, and our own bytes can't be given (publisher_sub.go, protocommon/message.go).
//   - It drops the newest message for a full queue and tells nobody; no hook, no count, and no
//     function of the message's is called by which one could find out.
//   - It derives definitions from Go structures, of which a second set would have to be kept.
//   - Its node must find the master when it is made, and doesn't notice that one was started
//     anew.
//   - Its XML-RPC server has no time limit for reading and none for sizes, and closing waits
//     for a caller that has sent half a request (xmlrpc/server.go).
//   - HeaderRawDecode takes its length from one Read, which may be short: it is given headers
//     as a whole here.
//   - A service that fails sends no text, which rospy waits for.
//
// # Goroutines
//
// A connected node has one that talks to the master, one that accepts TCPROS connections
// and two for each, one for each publisher that it listens to, and those of an HTTP server.
// All have ended when Disconnect returns.
package ros1
