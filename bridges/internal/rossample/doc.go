// Package rossample writes samples as ROS 2 messages. Its functions set every
// field of the message; they share the sample's bytes rather than copy them, so
// the message is good only while the sample is, and nothing may be decoded into
// it (law S4).
package rossample
