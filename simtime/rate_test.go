package simtime_test

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

func rate(t testing.TB, text string) simtime.Rate {
	t.Helper()
	r, err := simtime.ParseRate(text)
	require.NoError(t, err)
	return r
}

func scale(t testing.TB, text string) simtime.Scale {
	t.Helper()
	s, err := simtime.ParseScale(text)
	require.NoError(t, err)
	return s
}

func TestParseRate(t *testing.T) {
	tests := []struct {
		text, want string
		period     time.Duration
	}{
		{"10", "10", 100 * time.Millisecond},
		{"13.4", "13.4", 74626865},
		{" 0.5 ", "0.5", 2 * time.Second},
		{".25", "0.25", 4 * time.Second},
		{"20.00", "20", 50 * time.Millisecond},
		{"2.5e1", "25", 40 * time.Millisecond},
		{"5e-1", "0.5", 2 * time.Second},
		{"29.97", "29.97", 33366700},
		{"1e9", "1000000000", 1},
		{"0.000000001", "0.000000001", 1e18},
		{"10/3", "10/3", 300 * time.Millisecond},
		{" 1 / 0.3 ", "10/3", 300 * time.Millisecond},
		{"1/0.05", "20", 50 * time.Millisecond},
		{"30000/1001", "30000/1001", 33366666},
		{"1/0.000000001", "1000000000", 1},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			r := rate(t, tt.text)
			assert.Equal(t, tt.want, r.String())
			assert.Equal(t, tt.period, r.Period())
		})
	}
	for _, bad := range []string{"", "0", "-1", "1e10", "1000000000.1", "x", "1/0", "0/3", "/3", "1/", "1/2/3", "-1/-3", "1/1000000001", "999999999999999999/0.000000007", "NaN", "Inf", "1.2.3", "1e", "0.0000000001",
		"0.123456789123e-9", "1234567890123456789", "0x10", "1_0", "123456789012345678e5"} {
		t.Run("bad "+bad, func(t *testing.T) {
			_, err := simtime.ParseRate(bad)
			assert.ErrorIs(t, err, simtime.ErrRate)
		})
	}
	assert.True(t, simtime.Hz(0).IsZero())
	assert.True(t, simtime.Hz(-5).IsZero())
	r, err := simtime.RateOf(13.4)
	require.NoError(t, err)
	assert.Equal(t, rate(t, "13.4"), r)
	_, err = simtime.RateOf(math.NaN())
	assert.ErrorIs(t, err, simtime.ErrRate)
}

func TestRateInJSON(t *testing.T) {
	var v struct{ A, B simtime.Rate }
	require.NoError(t, json.Unmarshal([]byte(`{"A": 13.4, "B": "20"}`), &v))
	assert.Equal(t, rate(t, "13.4"), v.A)
	assert.Equal(t, simtime.Hz(20), v.B)
	assert.Error(t, json.Unmarshal([]byte(`{"A": 0}`), &v))
	text, err := json.Marshal(v)
	require.NoError(t, err)
	assert.JSONEq(t, `{"A": "13.4", "B": "20"}`, string(text))
}

// The grid is floor(k * 1e9 * den / num), by big integers here.
func TestRateGrid(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	rates := []struct {
		text     string
		num, den int64
	}{{"13.4", 67, 5}, {"10", 10, 1}, {"29.97", 2997, 100}, {"0.3", 3, 10}, {"100", 100, 1}, {"999999999.9", 9999999999, 10}}
	for _, tt := range rates {
		r := rate(t, tt.text)
		for range 2000 {
			k := rng.Int64N(1<<36) - 1<<35
			want := new(big.Int).Mul(big.NewInt(k), big.NewInt(1e9*tt.den))
			want.Div(want, big.NewInt(tt.num)) // Euclidean, which is floor for a positive divisor
			if !want.IsInt64() {
				continue
			}
			require.Equal(t, simtime.Stamp(want.Int64()), r.At(k), "seed %d, rate %s, k %d", seed, tt.text, k)
			at := r.At(k)
			require.Equal(t, k, r.IndexAt(at), "seed %d, rate %s, k %d", seed, tt.text, k)
			if r.At(k-1) < at-1 {
				require.Equal(t, k-1, r.IndexAt(at-1), "seed %d, rate %s, k %d", seed, tt.text, k)
			}
		}
	}
	assert.Equal(t, simtime.Stamp(math.MaxInt64), simtime.Hz(1).At(math.MaxInt64))
	assert.Equal(t, int64(math.MaxInt64)/1e9, simtime.Hz(1).IndexAt(math.MaxInt64))
	assert.Equal(t, int64(-9223372037), simtime.Hz(1).IndexAt(math.MinInt64))
}

func TestParseScale(t *testing.T) {
	assert.Equal(t, "0.2", scale(t, "0.2").String())
	assert.Equal(t, simtime.RealTime, scale(t, "1.0"))
	assert.True(t, scale(t, "0").IsZero())
	for _, bad := range []string{"-0.1", "1001", "fast", ""} {
		_, err := simtime.ParseScale(bad)
		assert.ErrorIs(t, err, simtime.ErrScale, bad)
	}
	var s simtime.Scale
	require.NoError(t, json.Unmarshal([]byte("0.1"), &s))
	assert.Equal(t, scale(t, "0.1"), s)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Equal(t, `"0.1"`, string(text))
	assert.ErrorIs(t, json.Unmarshal([]byte(`"-0.1"`), &s), simtime.ErrScale)
	assert.Equal(t, scale(t, "0.1"), s, "a bad scale changes nothing")
}

func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"10", "13.4", "1e-9", "0.0", "9e9", "00.10", "1.e3", ".5", "10/3", "1/0.3", "30000/1001"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := simtime.ParseRate(text)
		if err != nil {
			return
		}
		again, err := simtime.ParseRate(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %v, which reads as %v, %v", text, r, again, err)
		}
		if r.At(r.IndexAt(12345)) > 12345 {
			t.Fatalf("%q: an instant after the time it was asked for", text)
		}
	})
}
