package bench

import "context"

// Readback measures the frame times of a loop that reads back blocking, and of one
// that reads back through the pool. It appends to the report.
func Readback(ctx context.Context, config Config, report *Report) error {
	return nil
}
