// Package rosbridgetest is a rosbridge server for tests: it keeps no ROS behind it, but
// records what its clients advertise and publish, hands publications on to those that
// subscribed, and misbehaves when it is told to.
//
// It is written from the rosbridge v2 protocol specification (rosbridge_suite,
// ROSBRIDGE_PROTOCOL.md) alone, and shares no code with the bridge: it has its own BSON,
// and decodes JSON and CBOR with libraries of others into plain maps.
//
// # Usage
//
//	server := rosbridgetest.New(rosbridgetest.Config{})
//	err := server.Start()
//	defer server.Kill()
//	... connect a bridge to server.Addr()
//	server.Advertised()               // {"/points": "sensor_msgs/PointCloud2"}
//	server.Messages("/points")        // what was published
//	server.Publish("/cmd_vel", rosbridgetest.Outgoing{Values: twist})
//	server.Call(ctx, "/reset", nil)   // a service that the bridge offers
//
// # What it speaks
//
// The operations advertise, unadvertise, publish, subscribe (compression none, cbor and
// cbor-raw, throttle_rate, fragment_size), unsubscribe, advertise_service,
// unadvertise_service, call_service, service_response, set_level, fragment; png and auth
// are answered by a status of level error, as is whatever isn't of the protocol. With
// BSONOnly every frame in both directions is one BSON document, as rosbridge_server's
// parameter bson_only_mode has it.
//
// It knows no message definitions, so it can't tell whether a message conforms to its
// type, and routes a client's message to subscribers in the shape in which it came.
// Messages that [Server.Publish] is given have the shape that rosbridge gives them:
// bytes are base64 in JSON, byte strings in CBOR and binary in BSON; numeric slices are
// typed arrays in CBOR (RFC 8746).
//
// # Concurrency
//
// All methods may be called from any goroutine. Every client has one that reads;
// writing is done by whoever has something to send.
package rosbridgetest
