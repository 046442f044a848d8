package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/stream"
)

// FuzzGreeting reads anything as a greeting. What is one comes to the same bytes when
// it is written again and read again.
func FuzzGreeting(f *testing.F) {
	for _, b := range []string{helloAll, helloNone, welcome, "RBSTREAM\x01\x00\x03\x00\x16\x00\x00\x00\x00\x00"} {
		f.Add([]byte(b), true)
		f.Add([]byte(b), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, fromClient bool) {
		first, err := stream.Reencode(b, fromClient)
		if err != nil {
			return
		}
		second, err := stream.Reencode(first, fromClient)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}
