package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// scattered is a sheet of points over names, one of which has no value.
func scattered() *chart.Sheet {
	return &chart.Sheet{Title: "a sweep", Width: 520, Charts: []chart.Chart{{
		Title: "distance", X: "scene", Y: "m", Near: true, Names: []string{"city", "<yard>", "hill"},
		Series: []chart.Series{
			{Name: "case", Kind: chart.Points, X: []float64{0, 0, 1, 1}, Y: []float64{1000, 1001, 1002, math.NaN()}},
			{Name: "failed", Kind: chart.Rug, X: []float64{2, 1, math.Inf(1)}},
			{Name: "mean", X: []float64{-0.3, 0.3}, Y: []float64{1000.5, 1000.5}},
		},
	}}}
}

func count(text, pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(text, -1)) }

func TestScatteredPoints(t *testing.T) {
	text := string(scattered().Element("first"))
	assert.Equal(t, 3+2, count(text, `M[0-9.]+,[0-9.]+h0`), "three points, and two for the legend")
	assert.Equal(t, 2, count(regexp.MustCompile(`d="([^"]*)" style="fill:none;stroke:#d55e00;stroke-width:1.6"`).FindAllStringSubmatch(text, -1)[1][1], "M"), "two have no value")
	for _, name := range []string{"city", "&lt;yard&gt;", "hill"} {
		assert.Contains(t, text, ">"+name+"</text>")
	}
	assert.Contains(t, text, ">1001</text>")
	assert.NotContains(t, text, ">0</text>", "differences of a thousandth show")
	assert.Contains(t, text, `id="first-title"`)
	assert.Contains(t, text, `aria-labelledby="first-title first-desc"`)
	assert.Contains(t, text, `<desc id="first-desc">distance: m over scene, of case, failed, mean.</desc>`)
	assert.Contains(t, text, "var(--grid)")

	alone := string(scattered().SVG())
	assert.NotContains(t, alone, "var(--")
	for _, document := range []string{text, alone} {
		d := xml.NewDecoder(strings.NewReader(document))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
}

// TestNamesThin: of many names, those that have room are written.
func TestNamesThin(t *testing.T) {
	s := scattered()
	s.Charts[0].Names = strings.Split(strings.TrimSuffix(strings.Repeat("name,", 500), ","), ",")
	assert.LessOrEqual(t, count(string(s.SVG()), ">name"), 12)
	assert.GreaterOrEqual(t, count(string(s.SVG()), ">name"), 4)
}

// TestTicks: an axis names the values that it is told, and no others.
func TestTicks(t *testing.T) {
	s := &chart.Sheet{Charts: []chart.Chart{{Near: true, Ticks: []float64{1, 2.5, 4}, Series: []chart.Series{{Kind: chart.Points, X: []float64{1, 4}, Y: []float64{70, 90}}}}}}
	text := string(s.SVG())
	for _, want := range []string{">1<", ">2.5<", ">4<"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, ">2<")
}

func TestPointsAsPixels(t *testing.T) {
	data, err := scattered().PNG()
	require.NoError(t, err)
	m, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, 1600, m.Bounds().Dx())
	red := 0
	for x := range m.Bounds().Dx() {
		for y := range m.Bounds().Dy() {
			if r, g, b, _ := m.At(x, y).RGBA(); r>>8 == 0xd5 && g>>8 == 0x5e && b>>8 == 0 {
				red++
			}
		}
	}
	assert.Greater(t, red, 200, "two short lines on the axis, and one in the legend")
	again, err := scattered().PNG()
	require.NoError(t, err)
	assert.Equal(t, data, again)
}
