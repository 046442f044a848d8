// Package bench measures how fast sensors are generated and scenes are made
// ready, and writes down what was measured, so that others can hold their own
// programs beside it.
//
// # What is measured
//
// The scene stands still at time 0. Sensors are driven as a pipeline drives
// them, with two captures under way: each is announced, dispatched, fenced, read back to
// host memory with all its fields, and handed to a listener, which throws it
// away. A run is many complete captures; its rate is their number over the wall
// time from the first dispatch to the last delivery. A figure is the median of
// several runs. Shaders are compiled and buffers made before the first run.
//
// A bench uses the whole machine: what runs beside it lowers the figures, so a
// Report says how busy the machine was before and after.
package bench
