package docs_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
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

// quoted is what a program prints or takes.
var quoted = regexp.MustCompile("`[^`\n]+`")

// sentences divides a paragraph where a sentence ends.
var sentences = regexp.MustCompile(`[.!?]\s`)

// Marks of the page of benchmarks: the name of a machine in texts, its tables, and a figure that the
// page repeats. Package cmd/raybridge/internal/benchdocs writes by them.
var (
	calledMark   = regexp.MustCompile(`<!-- called (.+?): (.+?) -->`)
	blockMark    = regexp.MustCompile(`(?s)<!-- machine: ([^\n]+?) -->(.*?)<!-- (?:machine: |end -->)`)
	repeatedMark = regexp.MustCompile(`<!-- = \S+ \S+ @ (.+?) -->(.*?)<!-- \. -->`)
)

// figuresByCPU returns what the tables of each CPU have, by the name that texts call it.
func figuresByCPU(page string) map[string][]stated {
	list := map[string][]stated{}
	for _, called := range calledMark.FindAllStringSubmatch(page, -1) {
		name, text := called[1], ""
		for rest := page; ; {
			m := blockMark.FindStringSubmatchIndex(rest)
			if m == nil {
				break
			}
			if rest[m[2]:m[3]] == called[2] {
				text += rest[m[4]:m[5]] + "\n"
			}
			rest = rest[m[5]:] // the next machine's mark, too
		}
		list[name] = figuresIn(text)
	}
	return list
}

// unfounded lists the figures of a text whose sentence names no CPU, or one that they were not
// measured on. Their paragraph has to link to the page. A figure may be a rounded one.
func unfounded(text string, measured map[string][]stated) (faults []string) {
	for _, p := range paragraphs.Split(quoted.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
		p = strings.Join(strings.Fields(p), " ")
		for _, sentence := range sentences.Split(p, -1) {
			var cpus []string
			var of []stated
			for name, figures := range measured {
				if strings.Contains(sentence, name) {
					cpus, of = append(cpus, name), append(of, figures...)
				}
			}
			for _, f := range figuresIn(sentence) {
				switch {
				case !strings.Contains(p, "benchmarks.md"):
					faults = append(faults, fmt.Sprintf("%q stands in a paragraph without a link to benchmarks.md", f.text))
				case cpus == nil:
					faults = append(faults, fmt.Sprintf("the sentence of %q names none of the page's CPUs", f.text))
				case !slices.ContainsFunc(of, f.rounds):
					faults = append(faults, fmt.Sprintf("%q isn't on the page of benchmarks for %s", f.text, strings.Join(cpus, " or ")))
				}
			}
		}
	}
	return faults
}

// rounds tells whether a measured figure is this one before it was rounded.
func (f stated) rounds(measured stated) bool {
	return measured.kind == f.kind && math.Abs(measured.value-f.value) <= f.half*(1+1e-9)
}

// TestFiguresAreOnThePage: what these texts say of speed was measured, and its conditions are on
// the page.
func TestFiguresAreOnThePage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	measured := figuresByCPU(read("benchmarks.md"))
	require.Greater(t, len(measured["AMD EPYC"]), 200)
	_, changes, found := strings.Cut(read("../CHANGELOG.md"), "\n## ")
	require.True(t, found)
	changes, _, _ = strings.Cut(changes, "\n## ")
	total := 0
	for name, text := range map[string]string{
		"README.md": read("../README.md"), "docs/python.md": read("python.md"), "docs/api.md": read("api.md"), "CHANGELOG.md": changes,
	} {
		total += len(figuresIn(text))
		for _, fault := range unfounded(text, measured) {
			t.Errorf("%s: %s: measure it with make bench-docs, or leave it out", name, fault)
		}
	}
	assert.Greater(t, total, 5, "the texts state figures")
}

// TestThePageRepeatsItsTables: a figure within the page's text, or in its table of what is wanted, is
// one of the tables of that machine.
func TestThePageRepeatsItsTables(t *testing.T) {
	text, err := os.ReadFile("benchmarks.md")
	require.NoError(t, err)
	page := string(text)
	tables, some := figuresByCPU(page), 0
	for _, m := range repeatedMark.FindAllStringSubmatch(page, -1) {
		for _, f := range figuresIn(m[2]) {
			some++
			assert.True(t, slices.ContainsFunc(tables[m[1]], f.rounds), "%s of %s", m[2], m[1])
		}
	}
	assert.Greater(t, some, 10)
}

// TestUnfounded: the tests above can fail.
func TestUnfounded(t *testing.T) {
	const page = `
<!-- called Abacus: 2 cores of Abacus -->
<!-- called Slide Rule (new): 8 cores of Rule (family 6, model 207) -->
By hand: 4.4 M rays/s.

<!-- figures: one -->
<!-- machine: 2 cores of Abacus -->

| case | rays | step |
|---|---|---|
| VLP | 4.31 M rays/s (4.26 to 4.46) | 0.15 ms (0.1 to 0.2) |

<!-- machine: 8 cores of Rule (family 6, model 207) -->

| VLP | 5.6 M rays/s |

<!-- machine: 8 cores of Rule (family 6, model 1) -->

| VLP | 6.6 M rays/s |

<!-- end -->
<!-- figures: two -->
<!-- machine: 2 cores of Abacus -->

42.8 frames/s | 1,611 messages/s | 6.04 GB/s | 2.39 times real time | 0.26 µs

<!-- end -->
`
	measured := figuresByCPU(page)
	const link = " ([benchmarks](docs/benchmarks.md))"
	for _, k := range []struct {
		text string
		want []string
	}{
		{"Nothing is measured here: 640x480 at 10 Hz, 64 MiB, 2 cores.", nil},
		{"An Abacus made 4.31 M rays/s" + link, nil},
		{"An Abacus made 4.3 million rays a second" + link, nil},
		{"An Abacus made 4 M rays/s" + link, nil},
		{"An Abacus made 43 fps" + link, nil},
		{"An Abacus made 42.80 frames per second" + link, nil},
		{"It took 150 µs on an\nAbacus" + link, nil},
		{"An Abacus ran 2.4 times real\ntime, with 6 GB/s and 1,611 messages/s" + link, nil},
		{"An Abacus made 4.3 M rays/s. A Slide Rule (new) made 5.6 M rays/s" + link, nil},
		{"An Abacus made 4.3 M rays/s, a Slide Rule (new) 5.6 M rays/s" + link, nil},
		{"An Abacus made 4.4 M rays/s" + link, []string{`"4.4 M rays/s" isn't on`}},
		{"An Abacus made 5.6 M rays/s" + link, []string{`"5.6 M rays/s" isn't on the page of benchmarks for Abacus`}},
		{"A Slide Rule (new) made 6.6 M rays/s" + link, []string{`"6.6 M rays/s" isn't on`}},
		{"An Abacus made 4.3 M frames/s" + link, []string{`"4.3 M frames/s" isn't on`}},
		{"An Abacus made 42.9 frames/s" + link, []string{`"42.9 frames/s" isn't on`}},
		{"An Abacus took 0.15 µs" + link, []string{`"0.15 µs" isn't on`}},
		{"An Abacus ran 3 times real time, in 0.26 µs" + link, []string{`"3 times real time" isn't on`}},
		{"An Abacus made 43 fps. It ran 2.4 times real time" + link, []string{`"2.4 times real time" names none`}},
		{"It made 4.31 M rays/s" + link, []string{`"4.31 M rays/s" names none of the page's CPUs`}},
		{"An Abacus made 42.8 frames/s", []string{`"42.8 frames/s" stands in a paragraph without a link`}},
		{"One" + link + "\n\nAn Abacus took 0.15 ms", []string{`"0.15 ms" stands`}},
		{"* One" + link + "\n* An Abacus took 0.15 ms", []string{`"0.15 ms" stands`}},
		{"```\nsleep 77 ms\n```\n", nil},
		{"It writes `77 ms`, and not\n`7.7e+01 ms`.", nil},
	} {
		got := unfounded(k.text, measured)
		if assert.Len(t, got, len(k.want), "%s", k.text) {
			for i, want := range k.want {
				assert.Contains(t, got[i], want, k.text)
			}
		}
	}
}
