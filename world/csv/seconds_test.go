package csv

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/simtime"
)

func TestSeconds(t *testing.T) {
	for text, want := range map[string]simtime.Stamp{
		"0": 0, "1": 1e9, ".5": 5e8, "5.": 5e9, "-0.25": -25e7, "12.05": 12_050_000_000, "0.1": 1e8,
		"0.30000000000000004": 3e8, "0.0000000005": 1, "0.00000000049": 0, "-0.0000000005": -1,
		"1700000000.123456789": 1_700_000_000_123_456_789, "1e-05": 10_000, "1.5E+1": 15e9, "2e-10": 0, "9e-10": 1,
		"0001.0000000000000000000000000000": 1e9, "4611686018.427387903": math.MaxInt64 / 2,
	} {
		got, err := seconds(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-", ".", "e5", "1e", "1e99", "1e10", "--1", "+1", "1_0", "0x1", "NaN", "inf", "1.2.3", "1 2", "4611686018.427387910"} {
		_, err := seconds(text)
		assert.ErrorIs(t, err, errSeconds, text)
	}
}

// FuzzSeconds: what is read is the nearest nanosecond of what package big reads.
func FuzzSeconds(f *testing.F) {
	f.Add("0.30000000000000004")
	f.Add("-1.5e-3")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := seconds(text)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is read as %d", text, got)
		}
		off := exact.Mul(exact, big.NewRat(1e9, 1)).Sub(exact, new(big.Rat).SetInt64(int64(got)))
		if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%q is read as %d", text, got)
		}
	})
}
