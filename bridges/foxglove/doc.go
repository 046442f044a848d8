// Package foxglove is the bridge "foxglove": it serves every topic with Foxglove's
// WebSocket protocol, for the Foxglove application and everything else that speaks it.
//
// # Connection
//
//	foxglove:[[HOST:]PORT][?messages=N][&bytes=N][&clients=N][&origins=HOST,...][&cert=FILE&key=FILE]
//
// The bridge listens on 127.0.0.1:8765 unless an address is given, with TLS (wss://) where a
// certificate and its key are named. It is connected as soon as it listens. Without clients
// for a topic nothing is encoded, and the topic's sensor computes nothing
// ([bridges.Audience]).
//
// # Protocol
//
// The subprotocols foxglove.sdk.v1 and foxglove.websocket.v1 have the same messages, as far as
// a server without playback control is concerned: the specification is docs/spec.md of
// foxglove/ws-protocol, "Foxglove WebSocket protocol v1", and rust/foxglove/src/protocol of
// foxglove/foxglove-sdk. A client that offers neither is refused.
//
// # Types
//
// Package foxglovemsg's: Foxglove's own schemas in protobuf where there is one, ROS 2
// messages in CDR else. A Clock is published on its topic and as the protocol's time, to
// all clients. The time stamp of a message is when it was handed over, in
// simulation time; the capture's stamp is in the message itself.
//
// # Queues
//
// Each client has a queue of its own, 64 messages and 64 MiB unless the options say
// otherwise; the topic's policy decides what a full one does. A client that loses messages
// is told so each second, and when it is over. One that takes nothing for ten
// seconds is disconnected.
//
// # Counts
//
// A message counts as sent when the first client has it, and as dropped once more if other
// clients miss it. One that nobody has subscribed to is not_connected.
//
// # What clients send
//
// Clients publish vehicle commands, parameters and service calls; see [Factory.Register].
package foxglove
