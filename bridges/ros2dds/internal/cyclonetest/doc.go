// Package cyclonetest tells tests what Cyclone DDS's C library holds, so that they find
// what a bridge doesn't give back. It is empty unless the program is built with cgo and
// the tag ros2dds.
package cyclonetest
