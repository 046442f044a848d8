package bench

import "context"

// Dispatch measures the dispatcher against a plain channel with a worker pool. It
// appends to the report.
func Dispatch(ctx context.Context, config Config, report *Report) error {
	return nil
}
