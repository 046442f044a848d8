package memory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBudget(t *testing.T) {
	b := New(100)
	require.NoError(t, b.Take("a picture", 60))
	err := b.Take("another", 41)
	require.ErrorIs(t, err, ErrExceeded)
	assert.EqualError(t, err, "not enough memory: another needs 41 B beside 60 B that are held, the limit is 100 B")
	assert.EqualValues(t, 60, b.Held(), "what was refused isn't held")
	b.Give(20)
	require.NoError(t, b.Take("another", 60))
	assert.EqualError(t, New(1<<30).Take("a camera", 3<<30), "not enough memory: a camera needs 3.0 GiB, the limit is 1.0 GiB")
	assert.ErrorIs(t, New(1).Take("overflow", 1<<63-1), ErrExceeded)

	var none *Budget
	require.NoError(t, none.Take("all", 1<<62))
	none.Give(1)
	assert.Zero(t, none.Held())
}

func TestDefaultIsOfTheMachine(t *testing.T) {
	assert.Greater(t, Default(), int64(100<<20))
	path := filepath.Join(t.TempDir(), "meminfo")
	require.NoError(t, os.WriteFile(path, []byte("MemFree: 1 kB\nMemTotal:       16384 kB\n"), 0o600))
	n, ok := memTotal(path)
	assert.True(t, ok)
	assert.EqualValues(t, 16<<20, n)
	for text, want := range map[string]int64{"123\n": 123, "max\n": 0} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		n, ok := number(path)
		assert.Equal(t, want, n)
		assert.Equal(t, want > 0, ok)
	}
	_, ok = memTotal(path + "none")
	assert.False(t, ok)
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "7B": 7, "2KiB": 2048, "500MB": 5e8, "2GiB": 2 << 30, "3TB": 3e12} {
		n, err := ParseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, n)
	}
	for _, text := range []string{"", "0", "-1", "1.5GiB", "GB", "1 GB", "9223372036854775807KB"} {
		_, err := ParseSize(text)
		assert.ErrorContains(t, err, "such as", text)
	}
	assert.Equal(t, "1.5 GiB", Size(3<<29))
	assert.Equal(t, "2.0 TiB", Size(2<<40))
	assert.Equal(t, "1023 B", Size(1023))
}
