// Package rossample writes samples as ROS messages, and reads samples from them.
//
// Its functions set every field of the message; they share the sample's bytes rather than
// copy them, so the message is good only while the sample is, and nothing may be decoded
// into it (law S4). Those whose name begins with From do the opposite. [ros.Publication],
// [ros.Subscription] and [Service] register them on a bridge.
package rossample
