//go:build cgo && linux

package bench

import "context"

// CudaResults is cudaResults with another library, of a configuration whose
// defaults are filled in.
func CudaResults(ctx context.Context, c Config, library string, sizes ...int) ([]Result, error) {
	cfg, err := c.checked()
	if err != nil {
		return nil, err
	}
	return cudaResultsOf(ctx, &cfg, library, sizes)
}
