package memory

import (
	"testing"
	"testing/fstest"

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

// A share leaves the rest to others, and takes no more than there is.
func TestShare(t *testing.T) {
	whole := New(80)
	share := whole.Share(8)
	require.NoError(t, share.Take("a page", 10))
	assert.Equal(t, int64(10), whole.Held())
	assert.ErrorIs(t, share.Take("a page", 1), ErrExceeded)
	require.NoError(t, whole.Take("a sensor", 70))
	share.Give(10)
	assert.Equal(t, int64(70), whole.Held())
	require.NoError(t, whole.Take("a sensor", 5))
	assert.ErrorIs(t, share.Take("a page", 6), ErrExceeded, "the whole has 5")
	assert.Zero(t, share.Held())
	assert.Nil(t, (*Budget)(nil).Share(8))
}

// The default is half of what the program itself leaves of the least limit. That is one of the machine, of the
// process's own group, and of the groups above it.
func TestDefaultIsOfTheMachineAndItsGroups(t *testing.T) {
	const (
		meminfo = "MemFree: 1 kB\nMemTotal:       16777216 kB\n" // 16 GiB
		v2      = "29 22 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		v1      = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 25 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
		service = "sys/fs/cgroup/system.slice/robot.service/"
	)
	for name, c := range map[string]struct {
		files map[string]string
		whole int64
	}{
		"nothing can be told": {nil, 0},
		"no group":            {map[string]string{"proc/meminfo": meminfo}, 16 << 30},
		"v2, no limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2, "proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, 16 << 30},
		"v2, a systemd unit with MemoryMax": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2, "proc/self/cgroup": "0::/system.slice/robot.service\n",
			service + "memory.max": "2147483648\n", service + "memory.high": "max\n", "sys/fs/cgroup/system.slice/memory.max": "max\n",
		}, 2 << 30},
		"v2, MemoryHigh": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2, "proc/self/cgroup": "0::/system.slice/robot.service\n",
			service + "memory.max": "max\n", service + "memory.high": "1073741824\n",
		}, 1 << 30},
		"v2, a slice above has less": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2, "proc/self/cgroup": "0::/system.slice/robot.service\n",
			service + "memory.max": "4294967296\n", "sys/fs/cgroup/system.slice/memory.max": "2147483648\n",
		}, 2 << 30},
		"v2, in a namespace of its own": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
		"v2, a group of another namespace": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2, "proc/self/cgroup": "0::/../other\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
		"v1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v1, "proc/self/cgroup": "5:cpu:/busy\n4:memory:/batch/job\n",
			"sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/batch/memory.limit_in_bytes":     "2147483648\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":           "9223372036854771712\n",
		}, 2 << 30},
		"v1 in a container that sees its own part": {map[string]string{
			"proc/meminfo":        meminfo,
			"proc/self/mountinfo": "31 25 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"proc/self/cgroup":    "4:memory:/docker/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		}, 1 << 30},
		"v1 beside v2 without memory": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v1 + "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"proc/self/cgroup": "4:memory:/job\n0::/job\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824\n",
		}, 1 << 30},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		want := (c.whole - 128<<20) / 2
		if c.whole == 0 {
			want = 4 << 30
		}
		limit, whole := defaultOf(root)
		assert.Equal(t, want, limit, name)
		assert.Equal(t, c.whole, whole, name)
	}
	assert.Greater(t, Default(), int64(100<<20))
}

// A small container has less, and its errors say why. Where the program itself doesn't fit, nothing does.
func TestASmallContainer(t *testing.T) {
	for allowed, want := range map[string]string{
		"300000000": "not enough memory: a city needs 100.0 MiB, the limit is 79.1 MiB: half of what is left of 286.1 MiB " +
			"beside 128.0 MiB for the program itself",
		"67108864": "not enough memory: a city needs 100.0 MiB, the limit is 1 B: half of what is left of 64.0 MiB " +
			"beside 128.0 MiB for the program itself",
	} {
		err := ofMachine(fstest.MapFS{
			"proc/self/mountinfo":      {Data: []byte("29 22 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
			"proc/self/cgroup":         {Data: []byte("0::/\n")},
			"sys/fs/cgroup/memory.max": {Data: []byte(allowed + "\n")},
		}).Take("a city", 100<<20)
		require.ErrorIs(t, err, ErrExceeded)
		assert.EqualError(t, err, want)
	}
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
