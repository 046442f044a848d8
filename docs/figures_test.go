package docs_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speed is a measured figure in a text: a number and a unit of speed or of short times.
var speed = regexp.MustCompile(`(\d[\d,]*(?:\.(\d+))?) ?(?:(million|M|k) ?)?(ns|µs|us|ms|fps|[MG]?B/s|times real time|(?:rays|frames|pictures|messages)(?:/s| a second| per second))`)

// kinds have the units of one quantity, with the factor to its first one.
var kinds = map[string]struct {
	kind   string
	factor float64
}{
	"ns": {"s", 1e-9}, "µs": {"s", 1e-6}, "us": {"s", 1e-6}, "ms": {"s", 1e-3},
	"fps": {"frames/s", 1}, "frames/s": {"frames/s", 1}, "pictures/s": {"frames/s", 1}, "rays/s": {"rays/s", 1}, "messages/s": {"messages/s", 1},
	"B/s": {"B/s", 1}, "MB/s": {"B/s", 1e6}, "GB/s": {"B/s", 1e9}, "times real time": {"times real time", 1},
}

// stated is a figure of a text.
type stated struct {
	text, kind string
	value      float64
	half       float64 // half a unit of the last digit that is given
}

func figuresIn(text string) (list []stated) {
	text = strings.Join(strings.Fields(text), " ")
	for _, m := range speed.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			continue
		}
		unit := kinds[strings.NewReplacer(" a second", "/s", " per second", "/s").Replace(m[4])]
		factor := unit.factor * map[string]float64{"": 1, "k": 1e3, "M": 1e6, "million": 1e6}[m[3]]
		list = append(list, stated{m[0], unit.kind, value * factor, factor * 0.5 * math.Pow10(-len(m[2]))})
	}
	return list
}

// paragraphs divides a page at empty lines and items of lists.
var paragraphs = regexp.MustCompile(`\n\s*\n|\n\s*[*-] `)

// unfounded lists the figures of a text that the page of benchmarks doesn't have, or that
// stand in a paragraph without a link to it. A figure may be a rounded one.
func unfounded(text, page string) (faults []string) {
	measured := figuresIn(page)
	for _, p := range paragraphs.Split(fenced.ReplaceAllString(text, ""), -1) {
		for _, f := range figuresIn(p) {
			if !strings.Contains(p, "benchmarks.md") {
				faults = append(faults, fmt.Sprintf("%q stands in a paragraph without a link to benchmarks.md", f.text))
				continue
			}
			found := false
			for _, m := range measured {
				found = found || m.kind == f.kind && math.Abs(m.value-f.value) <= f.half*(1+1e-9)
			}
			if !found {
				faults = append(faults, fmt.Sprintf("%q isn't on the page of benchmarks", f.text))
			}
		}
	}
	return faults
}

// TestFiguresAreOnThePage: what these texts say of speed was measured, and its conditions are on
// the page.
func TestFiguresAreOnThePage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	_, page, found := strings.Cut(read("benchmarks.md"), "\n## Figures on ")
	require.True(t, found, "the page's heading of figures")
	require.Greater(t, len(figuresIn(page)), 50)
	_, changes, found := strings.Cut(read("../CHANGELOG.md"), "\n## ")
	require.True(t, found)
	changes, _, _ = strings.Cut(changes, "\n## ")
	total := 0
	for name, text := range map[string]string{
		"README.md": read("../README.md"), "docs/python.md": read("python.md"), "docs/api.md": read("api.md"), "CHANGELOG.md": changes,
	} {
		total += len(figuresIn(text))
		for _, fault := range unfounded(text, page) {
			t.Errorf("%s: %s: measure it with make bench-docs, or leave it out", name, fault)
		}
	}
	assert.Greater(t, total, 5, "the texts state figures")
}

// TestUnfounded: the test above can fail.
func TestUnfounded(t *testing.T) {
	const page = `
| case | rays | step |
|---|---|---|
| VLP | 4.31 M rays/s (4.26 to 4.46) | 0.15 ms (0.1 to 0.2) |

Made 42.8 frames/s, 1,611 messages/s, 6.04 GB/s and 2.39 times real time; a poll takes 0.26 µs.`
	const link = " ([benchmarks](docs/benchmarks.md))"
	for _, k := range []struct {
		text string
		want []string
	}{
		{"Nothing is measured here: 640x480 at 10 Hz, 64 MiB, 2 cores.", nil},
		{"It made 4.31 M rays/s" + link, nil},
		{"It made 4.3 million rays a second" + link, nil},
		{"It made 4 M rays/s" + link, nil},
		{"It made 43 fps" + link, nil},
		{"It made 42.80 frames per second" + link, nil},
		{"It took 150 µs" + link, nil},
		{"It ran 2.4 times real\ntime, with 6 GB/s and 1,611 messages/s" + link, nil},
		{"It made 4.4 M rays/s" + link, []string{`"4.4 M rays/s" isn't on`}},
		{"It made 4.3 M frames/s" + link, []string{`"4.3 M frames/s" isn't on`}},
		{"It made 42.9 frames/s" + link, []string{`"42.9 frames/s" isn't on`}},
		{"It took 0.15 µs" + link, []string{`"0.15 µs" isn't on`}},
		{"It ran 3 times real time, in 0.26 µs" + link, []string{`"3 times real time" isn't on`}},
		{"It made 42.8 frames/s", []string{`"42.8 frames/s" stands in a paragraph without a link`}},
		{"One" + link + "\n\nIt took 0.15 ms", []string{`"0.15 ms" stands`}},
		{"* One" + link + "\n* It took 0.15 ms", []string{`"0.15 ms" stands`}},
		{"```\nsleep 77 ms\n```\n", nil},
	} {
		got := unfounded(k.text, page)
		if assert.Len(t, got, len(k.want), "%s", k.text) {
			for i, want := range k.want {
				assert.Contains(t, got[i], want, k.text)
			}
		}
	}
}
