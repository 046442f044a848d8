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
// # Readback
//
// Readback drives the same sensors by two frame loops, on stamps that begin at 0 in
// each run, so that the data of both is bit-equal. A frame has one capture and 4 ms
// of computation: so many rounds of a generator of random numbers, as the shortest of
// several tries says. It ends when the loop may begin the next. The blocking loop
// dispatches, finishes, copies, finishes, and hands on what came back. The
// asynchronous one asks for the capture and never waits: a run is a burst, which
// another goroutine makes two at a time, as a stepped pipeline does, and whose data it
// hands on; the run ends when everything is published. A case whose name ends in hz
// is paced instead: frames begin at a steady beat, and some of them have a capture.
//
// Behind both lies the same way: a dispatcher with an ordered topic for each output,
// whose workers encode the message as the mcap bridge does, uncompressed, into a
// recording that is thrown away, and then take a sum of it, which no latency has in
// it. The loops run on an OS thread that goes first where the system allows it
// (simtime.TakeThread), with more processors for Go's scheduler than there are cores.
//
// The asynchronous figures count if every capture arrived once, in order, with the
// bytes of the blocking loop's, and if it made at least 0.9 of that loop's captures
// per second: the median of the shares of runs that were made one after the other.
//
// A bench uses the whole machine: what runs beside it lowers the figures, so a
// Report says how busy the machine was before and after.
package bench
