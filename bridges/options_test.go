package bridges_test

import (
	"math"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestForm(t *testing.T) {
	info := bridges.Info{Connection: "HOST[:9090]"}
	assert.Equal(t, "HOST[:9090]", info.Form())
	info.Options = []bridges.Option{{Key: "a", Value: "1|2"}, {Key: "b", Value: "N"}}
	assert.Equal(t, "HOST[:9090][?a=1|2][&b=N]", info.Form())
}

func TestOptionsAreSplitOff(t *testing.T) {
	var two struct {
		X string `option:"x"`
		Y string `option:"y"`
	}
	for connection, want := range map[string]struct {
		target  string
		options map[string]string
	}{
		"":                     {"", map[string]string{}},
		"a/b.c":                {"a/b.c", map[string]string{}},
		"a?x=1&y=%20z":         {"a", map[string]string{"x": "1", "y": " z"}},
		"ws://[::1]:90/p?x=a?": {"ws://[::1]:90/p", map[string]string{"x": "a?"}},
		"a?":                   {"a", map[string]string{}},
	} {
		target, options, err := bridges.ReadOptions(connection, &two)
		require.NoError(t, err, connection)
		assert.Equal(t, want.target, target, connection)
		assert.Equal(t, want.options, options, connection)
	}
	for connection, want := range map[string]string{
		"a?z=1":     `unknown option "z"; known are x, y`,
		"a?x=1&x=2": `option "x" is given twice`,
		"a?x=%g":    "invalid URL escape",
	} {
		_, _, err := bridges.ReadOptions(connection, &two)
		require.ErrorIs(t, err, bridges.ErrConnectionString, connection)
		assert.ErrorContains(t, err, want, connection)
	}
	_, _, err := bridges.ReadOptions("a?x=1", &struct{}{})
	require.ErrorIs(t, err, bridges.ErrConnectionString)
	assert.ErrorContains(t, err, `unknown option "x"; the bridge has none`)
}

// every has an option of each kind.
type every struct {
	Name   string        `option:"name" value:"NAME" doc:"any text"`
	File   string        `option:"file" value:"FILE" want:"a file"`
	Words  string        `option:"words" value:"some|more" default:"some"`
	Other  string        `option:"other" value:"some|more" want:"more|some"`
	Told   int           `option:"told" value:"7|8" want:"7, or else 8"`
	List   []string      `option:"list" value:"A,..."`
	On     bool          `option:"on" value:"on|off"`
	One    bool          `option:"one" value:"0|1"`
	Number int           `option:"number" value:"N" default:"4" min:"1" max:"9" want:"1 to 9"`
	Many   int           `option:"many" value:"N" want:"a number"`
	Factor float64       `option:"factor" value:"FACTOR" min:"1" max:"1.5" want:"a factor"`
	Time   time.Duration `option:"time" value:"TIME" want:"a time"`
	Size   int64         `option:"size" value:"SIZE"`
	Policy flow.Policy   `option:"policy" value:"block|drop_oldest"`
	ours   int           // no option
	bridges.QueueOptions
}

func TestReadOptions(t *testing.T) {
	all := "name=&file=a.pem&words=more&other=some&told=8&list=a,b&on=on&one=1&number=9&many=0&factor=1.5&time=3s&size=2KiB&policy=block&messages=2"
	got := every{Number: 3, ours: 1}
	target, given, err := bridges.ReadOptions("a?"+all, &got)
	require.NoError(t, err)
	assert.Equal(t, "a", target)
	assert.Equal(t, "8", given["told"])
	assert.Equal(t, every{
		File: "a.pem", Words: "more", Other: "some", Told: 8, List: []string{"a", "b"}, On: true, One: true, Number: 9, Factor: 1.5,
		Time: 3 * time.Second, Size: 2048, Policy: flow.Block, ours: 1, QueueOptions: bridges.QueueOptions{Messages: 2},
	}, got)
	kept := every{Number: 3, Time: 1, One: true, List: []string{"c"}}
	_, _, err = bridges.ReadOptions("a?on=off&one=0", &kept)
	require.NoError(t, err)
	assert.Equal(t, every{Number: 3, Time: 1, List: []string{"c"}}, kept, "what isn't given stays")

	for option, want := range map[string]string{
		"file=":       `file="": want a file`,
		"words=mor":   `words="mor": want some or more; did you mean more?`,
		"words=":      `words="": want some or more`,
		"other=x":     `other="x": want more or some`,
		"told=9":      `told="9": want 7, or else 8`,
		"on=1":        `on="1": want on or off`,
		"one=on":      `one="on": want 0 or 1`,
		"number=0":    `number="0": want 1 to 9`,
		"number=10":   "want 1 to 9",
		"number=x":    "want 1 to 9",
		"many=-1":     "want a number",
		"many=1.0":    "want a number",
		"many=1e10":   "want a number",
		"factor=0.9":  "want a factor",
		"factor=1.6":  "want a factor",
		"factor=NaN":  "want a factor",
		"time=0s":     "want a time",
		"time=-1s":    "want a time",
		"time=3":      "want a time",
		"size=0":      "a positive number of bytes",
		"policy=drop": `unknown policy "drop": want`,
		"messages=0":  `messages="0": want a whole number from 1 on`,
		"ours=1":      `unknown option "ours"`,
		"nothing=1":   `unknown option "nothing"`,
	} {
		_, _, err := bridges.ReadOptions("a?"+option, &every{})
		require.ErrorIs(t, err, bridges.ErrConnectionString, option)
		assert.ErrorContains(t, err, want, option)
	}
}

func TestOptionsOf(t *testing.T) {
	list := bridges.OptionsOf(&every{Words: "more"})
	assert.Equal(t, bridges.Option{Key: "name", Value: "NAME", Meaning: "any text"}, list[0])
	assert.Equal(t, bridges.Option{Key: "words", Value: "some|more", Default: "more"}, list[2], "the field has a value")
	assert.Equal(t, bridges.Option{Key: "number", Value: "N", Default: "4"}, list[8])
	assert.Equal(t, bridges.OptionsOf(bridges.QueueOptions{}), list[len(list)-2:])
}

func TestListenAddress(t *testing.T) {
	for text, want := range map[string]string{
		"":               "127.0.0.1:7740",
		"7741":           "127.0.0.1:7741",
		"0":              "127.0.0.1:0",
		":7742":          ":7742",
		"0.0.0.0:7742":   "0.0.0.0:7742",
		"localhost:7742": "localhost:7742",
		"[::1]:7742":     "[::1]:7742",
	} {
		got, err := bridges.ListenAddress(text, "127.0.0.1:7740")
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, message := range map[string]string{
		"localhost":    `bad address "localhost": need PORT or HOST:PORT, such as 127.0.0.1:7740`,
		"::1:7742":     "need PORT or HOST:PORT",
		"65536":        `bad address "65536": the port is a number from 0, for any free one, to 65535`,
		"99999999999":  "the port is a number",
		"here:http":    "the port is a number",
		"127.0.0.1:":   "the port is a number",
		"127.0.0.1:-1": "the port is a number",
		"-1":           "need PORT or HOST:PORT",
	} {
		_, err := bridges.ListenAddress(text, "127.0.0.1:7740")
		require.ErrorIs(t, err, bridges.ErrConnectionString, text)
		assert.ErrorContains(t, err, message, text)
	}
}

func TestDialAddress(t *testing.T) {
	for text, want := range map[string]string{
		"robot":          "robot:9090",
		"robot:9091":     "robot:9091",
		"192.168.0.7":    "192.168.0.7:9090",
		"[::1]":          "[::1]:9090",
		"[::1]:9091":     "[::1]:9091",
		"[fe80::1%eth0]": "[fe80::1%eth0]:9090",
		"127.0.0.1:1":    "127.0.0.1:1",
		"robot:65535":    "robot:65535",
	} {
		got, err := bridges.DialAddress(text, 9090)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, message := range map[string]string{
		"":            `bad address "": no host; want HOST or HOST:PORT, such as localhost:9090 or [::1]:9090`,
		":9091":       "the host is not a name or number",
		"robot:":      "the port is a number from 1 to 65535",
		"robot:0":     "the port is a number",
		"robot:65536": "the port is a number",
		"robot:http":  "the port is a number",
		"robot:-1":    "the port is a number",
		"::1":         "an IPv6 address stands in brackets",
		"::1:9090":    "an IPv6 address stands in brackets",
		"[::1":        "it can't be split into host and port",
		"[::1]9090":   "it can't be split into host and port",
		"[]":          "the host is not a name or number",
		"ws://robot":  "the port is a number",
		"robot/a":     "the host is not a name or number",
		"me@robot":    "the host is not a name or number",
		"robot [::1]": "an IPv6 address stands in brackets",
		"two words":   "the host is not a name or number",
		"robot:1:2":   "an IPv6 address stands in brackets",
	} {
		_, err := bridges.DialAddress(text, 9090)
		require.ErrorIs(t, err, bridges.ErrConnectionString, text)
		assert.ErrorContains(t, err, message, text)
	}
}

func TestRetryWaits(t *testing.T) {
	for name, c := range map[string]struct {
		retry bridges.Retry
		want  []time.Duration // after 1, 2, ... failures
	}{
		"zero value":  {bridges.Retry{}, []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}},
		"backing off": {bridges.Retry{Interval: time.Second, Backoff: 3, Longest: 10 * time.Second}, []time.Duration{1e9, 3e9, 9e9, 10e9, 10e9}},
		"up to 30 s":  {bridges.Retry{Backoff: 10}, []time.Duration{3e9, 30e9, 30e9}},
		"a long one":  {bridges.Retry{Interval: time.Hour, Backoff: 2}, []time.Duration{time.Hour, time.Hour}},
		"cut off":     {bridges.Retry{Interval: time.Hour, Longest: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		"beyond what a duration holds": {
			bridges.Retry{Interval: math.MaxInt64 / 4, Backoff: 3, Longest: math.MaxInt64},
			[]time.Duration{math.MaxInt64 / 4, 3 * (math.MaxInt64 / 4), math.MaxInt64, math.MaxInt64},
		},
	} {
		for i, want := range c.want {
			wait, again := c.retry.Wait(i + 1)
			assert.True(t, again, name)
			assert.InEpsilon(t, want, wait, 1e-9, "%s: %d failures", name, i+1)
		}
	}
	_, again := bridges.Retry{Attempts: 3}.Wait(3)
	assert.False(t, again)
	_, again = bridges.Retry{Attempts: 3}.Wait(2)
	assert.True(t, again)
}

func TestCheckSize(t *testing.T) {
	require.NoError(t, bridges.CheckSize(10, 10))
	err := bridges.CheckSize(11, 10)
	require.ErrorIs(t, err, flow.ErrTooLarge)
	assert.ErrorContains(t, err, "11 bytes, the most are 10")
	assert.Equal(t, flow.CauseTooLarge, flow.CauseOf(err))
}
