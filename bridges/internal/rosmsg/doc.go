// Package rosmsg has the ROS messages that sensors publish and vehicles obey, written once:
// their definitions as .msg files, and a Go structure of each, whose Fields
// method visits the fields in the definition's order. Every encoding of them (a
// [Visitor]) and every schema text follows from these two; a test holds them
// together.
//
// The definitions are those of common_interfaces, geometry2 and rcl_interfaces
// as Humble to Rolling have them (Range as Humble has it), of vision_msgs 4, of
// carla_msgs, lgsvl_msgs, ackermann_msgs and nmea_msgs, without their comments. ROS 1's
// differ in names alone, see [Version], but for vision_msgs: the one of ROS 1 has other
// fields.
package rosmsg
