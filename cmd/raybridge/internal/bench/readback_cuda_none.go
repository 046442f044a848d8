//go:build !cgo || !linux

package bench

import "context"

// cudaResults measures nothing: libcuda is loaded through cgo, on Linux.
func cudaResults(context.Context, *Config, []int) ([]Result, error) { return nil, nil }
