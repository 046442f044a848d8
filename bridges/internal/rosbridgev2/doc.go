// Package rosbridgev2 speaks rosbridge's protocol (rosbridge_suite,
// ROSBRIDGE_PROTOCOL.md, version 2), the part that bridges to rosbridge have in common,
// whatever messages they carry.
//
// A [Client] keeps a connection to a server and what was registered with it: topics that
// are published ([Client.Advertise]), topics that are subscribed to ([Client.Subscribe])
// and services ([Client.Offer]). [Parse] reads a frame of any encoding, and the
// Append functions write them.
//
// # Encodings
//
// A server wants JSON in text frames, or, in bson_only_mode, BSON in binary frames. What
// it sends is JSON, CBOR or BSON: the first byte of a frame tells which, given the mode. Only
// the envelope is read and written here, the message in it is the bridge's.
//
// # Goroutines
//
// A connected client has the goroutines of its transport.Client and one for each service, on
// which its handler runs: a handler that takes its time stops neither the reader nor the others.
// [Client.Disconnect] ends them all.
package rosbridgev2
