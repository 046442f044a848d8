// Package rig reads the list of sensors that a robot carries: raybridge's own YAML,
// the sensors of an SVL Simulator vehicle (JSON) and the objects.json of CARLA's ROS
// bridge. Which of them a file is shows in its text. It knows the form of the list;
// what the attributes of raybridge's sensors mean comes from a sensors.Registry.
//
// The parameters of SVL's and CARLA's sensors stand in one table each, with the
// defaults and ranges that they have there and the attributes that they become here;
// docs/rigs.md is written from it.
//
// # Frames
//
// Each sensor has a frame of its own, mounted in base_link or in another sensor's
// frame; no two sensors place one frame differently, so /tf is never contradictory.
// Its messages name that frame, or the one that frame_id gives: that one is a name
// only and places nothing, except that a camera's is the name of its optical frame.
package rig
