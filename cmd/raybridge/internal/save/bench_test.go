package save_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/save"
	"github.com/raybridge/raybridge/sensors/sample"
)

// BenchmarkPCD makes the file of a VLS-128's scan.
func BenchmarkPCD(b *testing.B) {
	m := &sample.PointCloud{Points: make([]sample.Point, 230_400), Rings: 128, Columns: 1800}
	p, err := save.CloudPoints(m)
	require.NoError(b, err)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = save.AppendPCD(out[:0], p)
	}
	b.SetBytes(int64(len(out)))
}
