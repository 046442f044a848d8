// Package bridgebench measures bridges beside the plain writers of their protocols: the
// same bytes, to the same receiver on this machine, by turns in one run, so that what
// the machine does besides falls on both.
//
//	for _, c := range bridgebench.Contests() {
//		result, err := c.Run(ctx, bridgebench.Config{Runs: 5})
//		...
//	}
//
// A bridge does what a plain writer doesn't: it converts a sample, encodes the message,
// queues it, and counts it. A run is timed from the first message to the receiver's last
// byte. Publishers wait for room (policy block), so that nothing is dropped.
//
// ros2dds is measured by its own tests, beside a program in C: make bench-ros2dds.
package bridgebench
