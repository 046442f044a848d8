package main

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeReport writes a page with figures of one colour each, as the report embeds
// them, and returns its path.
func writeReport(t *testing.T, figures map[string]color.Color) string {
	t.Helper()
	page := template.Must(template.New("").Parse(`<img src="{{.URL}}" alt="{{.Title}}">`))
	var out bytes.Buffer
	for title, c := range figures {
		m := image.NewRGBA(image.Rect(0, 0, 900, 600))
		draw.Draw(m, m.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
		var data bytes.Buffer
		require.NoError(t, png.Encode(&data, m))
		url := template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(data.Bytes()))
		require.NoError(t, page.Execute(&out, map[string]any{"URL": url, "Title": title}))
	}
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

func TestEachFigureIsInItsPlace(t *testing.T) {
	colors := map[string]color.Color{
		"front · /front/image_raw":                   color.RGBA{200, 0, 0, 255},
		"front_depth · /front/depth/image_raw":       color.RGBA{0, 200, 0, 255},
		"front_semantic · /front/semantic/image_raw": color.RGBA{0, 0, 200, 255},
		"lidar from above":                           color.RGBA{200, 200, 0, 255},
		"lidar ranges":                               color.RGBA{0, 200, 200, 255},
	}
	out := filepath.Join(t.TempDir(), "demo.jpg")
	require.NoError(t, montage([]string{writeReport(t, colors), out}))

	f, err := os.Open(out)
	require.NoError(t, err)
	defer f.Close()
	m, err := jpeg.Decode(f)
	require.NoError(t, err)
	assert.Equal(t, image.Pt(1288, 725), m.Bounds().Size())
	for _, c := range []struct {
		at    image.Point
		title string
	}{
		{image.Pt(320, 240), "front · /front/image_raw"},
		{image.Pt(968, 240), "lidar from above"},
		{image.Pt(160, 600), "front_depth · /front/depth/image_raw"},
		{image.Pt(480, 600), "front_semantic · /front/semantic/image_raw"},
		{image.Pt(968, 600), "lidar ranges"},
	} {
		r, g, b, _ := m.At(c.at.X, c.at.Y).RGBA()
		wr, wg, wb, _ := colors[c.title].RGBA()
		for _, v := range [][2]uint32{{r, wr}, {g, wg}, {b, wb}} {
			assert.InDelta(t, v[1]>>8, v[0]>>8, 3, "%s at %v", c.title, c.at)
		}
	}
}

func TestEachReportHasItsColumn(t *testing.T) {
	var args []string
	for i := range uint8(3) {
		args = append(args, writeReport(t, map[string]color.Color{
			"front · /front/image_raw": color.RGBA{100 + 50*i, 0, 0, 255}, "lidar from above": color.RGBA{0, 100 + 50*i, 0, 255},
		}))
	}
	out := filepath.Join(t.TempDir(), "weather.jpg")
	require.NoError(t, weathers(append(args, out)))
	f, err := os.Open(out)
	require.NoError(t, err)
	defer f.Close()
	m, err := jpeg.Decode(f)
	require.NoError(t, err)
	assert.Equal(t, image.Pt(1288, 750), m.Bounds().Size())
	for i := range 3 {
		above, _, _, _ := m.At(432*i+212, 200).RGBA()
		_, below, _, _ := m.At(432*i+212, 500).RGBA()
		assert.InDelta(t, 100+50*i, above>>8, 3)
		assert.InDelta(t, 100+50*i, below>>8, 3)
	}
}

func TestAReportWithoutAFigure(t *testing.T) {
	path := writeReport(t, map[string]color.Color{"front · /front/image_raw": color.White})
	require.ErrorContains(t, montage([]string{path, filepath.Join(t.TempDir(), "demo.jpg")}), `"lidar from above"`)

	empty := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(empty, []byte("<html></html>"), 0o600))
	require.ErrorContains(t, montage([]string{empty, filepath.Join(t.TempDir(), "demo.jpg")}), "no figures")
}

func TestGeneratorsSayHowTheyAreCalled(t *testing.T) {
	for name, usage := range map[string]string{"clouds": "usage: gen clouds REPORT.html OUT.jpg", "lenses": "usage: gen lenses REPORT.html OUT.jpg", "montage": "usage: gen montage REPORT.html OUT.jpg", "shutter": "usage: gen shutter REPORT.html OUT.jpg", "weather": "usage: gen weather REPORT.html REPORT.html REPORT.html OUT.jpg", "notice": "usage: gen notice PACKAGE FILE"} {
		for _, args := range [][]string{nil, {"one"}, {"one", "two", "three"}} {
			assert.EqualError(t, generators[name](args), usage)
		}
	}
}

func TestPixelsAreAveraged(t *testing.T) {
	src := image.NewGray(image.Rect(0, 0, 4, 2))
	copy(src.Pix, []uint8{0, 100, 10, 10, 50, 50, 10, 10})
	dst := image.NewRGBA(image.Rect(0, 0, 2, 1))
	fit(dst, dst.Bounds(), src, src.Bounds())
	assert.Equal(t, [2]uint8{50, 10}, [2]uint8{dst.RGBAAt(0, 0).R, dst.RGBAAt(1, 0).R})
}
