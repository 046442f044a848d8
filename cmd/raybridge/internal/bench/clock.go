package bench

import "context"

// Clock measures how late the clock's publisher is. It appends to the report.
func Clock(ctx context.Context, config Config, report *Report) error {
	return nil
}
