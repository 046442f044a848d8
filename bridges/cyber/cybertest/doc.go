// Package cybertest has a server that follows the rules of Apollo's cyber_bridge, for
// tests of what connects to one. It was written from the description of the protocol
// alone (docs/bridges/cyber.md), and shares no code with the bridge cyber. No foreign
// server can be had here: cyber_bridge is built and run within Apollo only.
//
// # Rules
//
// All integers are u32, little endian. A client sends
//
//	op 1: count, then count times a length and a FileDescriptorProto
//	op 2: length, channel, length, type: it wants the channel's messages
//	op 3: length, channel, length, type: it will publish on the channel
//	op 4: length, channel, length, message
//
// and is sent op 4. Nothing is acknowledged. An op of another number ends the
// connection. A file whose imports aren't registered is logged and thrown away; so is a
// writer of a type that isn't known, and from then on the channel's messages are
// dropped. The type of a reader is ignored. What a client doesn't take is kept up to a
// limit, then dropped. Readers and writers of one channel are shared by all clients and
// end with the last that has them.
package cybertest
