package encode

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBase64IsTheStandardLibrarys(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{1})
	for size := range 300 {
		src := make([]byte, size)
		_, _ = random.Read(src)
		before := []byte(`{"data":"`)
		require.Equal(t, string(base64.StdEncoding.AppendEncode(before, src)), string(appendBase64(before, src)), "%d bytes", size)
	}
}

func TestBase64OfEverySixBits(t *testing.T) {
	t.Parallel()
	src := make([]byte, 0, 3<<12)
	for i := range 1 << 12 { // each pair of characters, in both places of three bytes
		src = append(src, byte(i>>4), byte(i<<4|i>>8), byte(i))
	}
	require.Equal(t, base64.StdEncoding.EncodeToString(src), string(appendBase64(nil, src)))
}

func BenchmarkBase64(b *testing.B) {
	src, dst := make([]byte, 1_500_000), make([]byte, 0, 2_000_000)
	for _, c := range []struct {
		name   string
		encode func(dst, src []byte) []byte
	}{{"ours", appendBase64}, {"library", base64.StdEncoding.AppendEncode}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(cap(dst)))
			for b.Loop() {
				c.encode(dst, src)
			}
		})
	}
}
