// Package rosapollo is the bridge named "rosapollo": a client of the rosbridge server of
// LG's ROS 1 for Apollo 3.0 and 3.5, which knows protobuf messages as ROS types
// "pb_msgs/...".
//
// The connection string is
//
//	[ws://|wss://]HOST[:PORT][?ca=FILE][&insecure=1][&retry=...]
//
// with port 9090 by default. The protocol is rosbridge's, version 2, in JSON text frames.
//
// # Messages
//
// Radar objects, CanBus, GnssFix, GpsOdometry, Imu, 3-D boxes and signals are Apollo's
// messages: ContiRadar, Chassis, GnssBestPose, Gps, Imu (CorrectedImu on topics that end in
// "corrected_imu"), PerceptionObstacles and TrafficLightDetection. Everything else is the
// ROS message that bridge rosbridge sends. Commands come as pb_msgs/ControlCommand, boxes as
// lgsvl_msgs' arrays.
//
// An Apollo message in JSON is an object of the fields that are set, by their names in the
// .proto file: enumerations are integers, 64-bit integers numbers, bytes base64, and null is
// a number that is NaN or infinite. What comes may also have protobuf's own JSON form.
//
// # Goroutines
//
// Those of rosbridgev2.Client.
//
// # Known gaps
//
// LG's fork of rosbridge can't be had any more: how it wants protobuf messages is inferred
// from what SVL Simulator sent it. BSON, CBOR and cbor-raw aren't spoken.
package rosapollo
