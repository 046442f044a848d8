package save

import (
	"bytes"
	"image/color"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDrawImageTellsTagsByTheSensor(t *testing.T) {
	m := &sample.Image{Width: 1, Height: 1, Step: 1, Encoding: sample.EncodingMono8, Data: []byte{byte(scene.TagCar)}}
	shown, caption := drawImage(m, "sensor.camera.semantic_segmentation")
	assert.Equal(t, color.RGBA(scene.TagCar.Color()), shown.At(0, 0))
	assert.Contains(t, caption, "tags")

	shown, _ = drawImage(m, "sensor.camera.rgb")
	grey := uint8(scene.TagCar)
	assert.Equal(t, color.RGBA{grey, grey, grey, 255}, shown.At(0, 0))

	assert.NotContains(t, caption, "rolling")
	m.Shutter = sample.Shutter{Readout: "bottom_up", LineTime: 2.5e-5, ExposureTime: 1e-3}
	_, caption = drawImage(m, "sensor.camera.rgb")
	assert.Contains(t, caption, "1 × 1, mono8, rolling bottom_up, 25 µs a line")

	m.Encoding = "yuv422"
	_, caption = drawImage(m, "sensor.camera.rgb")
	assert.Contains(t, caption, "can't show")
}

// cloud has one return straight ahead and one to the left, of the upper and the
// lower of two lasers, and a miss.
func cloud() *sample.PointCloud {
	point := func(x, y, z float64, ray uint32) sample.Point {
		return sample.Point{
			X: float32(x), Y: float32(y), Z: float32(z), Distance: float32(math.Hypot(x, y)), Ray: ray, Return: sample.ReturnStrongest,
			Elevation: float32(math.Atan2(z, math.Hypot(x, y))),
		}
	}
	return &sample.PointCloud{Rings: 2, Columns: 4, Points: []sample.Point{
		point(10, 0, 2, 1), point(0, 20, -2, 6), {Ray: 3, Distance: float32(math.Inf(1))},
	}}
}

func TestTopViewHasAheadUpAndLeftLeft(t *testing.T) {
	shown := drawTop(cloud())
	scale := topSize / (2 * topRange)
	lit := func(x, y float64) bool {
		r, g, b, _ := shown.At(int(topSize/2-y*scale), int(topSize/2-x*scale)).RGBA()
		return r+g+b > 0x10000
	}
	assert.True(t, lit(10, 0), "ahead is up")
	assert.True(t, lit(0, 20), "left is left")
	assert.False(t, lit(-10, 0))
	assert.Equal(t, "2 points", countReturns(cloud()))
}

// The ranges show the strongest of several returns, and the caption counts all.
func TestReportOfReturns(t *testing.T) {
	m := cloud()
	weak := m.Points[1]
	weak.Distance, weak.Return = 90, sample.ReturnWeakLast
	m.Returns, m.Points[0].Return, m.Points[1].Return = sample.DualReturns, sample.ReturnOnly, sample.ReturnStrongestFirst
	m.Points = []sample.Point{m.Points[0], m.Points[1], weak}
	assert.Equal(t, "3 points (1 of return type 3, 1 of return type 6, 1 of return type 7)", countReturns(m))
	shown := drawRanges(m)
	require.Equal(t, 4, shown.Bounds().Dx())
	assert.Equal(t, rangeColor(20), shown.At(1, shown.Bounds().Dy()-1))
}

func TestRangeViewHasTheHighestLaserOnTop(t *testing.T) {
	shown := drawRanges(cloud())
	require.Equal(t, 4, shown.Bounds().Dx())
	empty := shown.At(0, 0)
	// Column 0 is straight ahead, in the middle; laser 1 looks up.
	assert.NotEqual(t, empty, shown.At(2, 0))
	assert.Equal(t, empty, shown.At(2, shown.Bounds().Dy()-1))
	assert.NotEqual(t, empty, shown.At(1, shown.Bounds().Dy()-1))
}

func TestLatencyTakesTheSlowestSensorInTheOrderOfTheWay(t *testing.T) {
	bars := tabulate([]pipeline.PartLatency{
		{Sensor: "a", Name: "send", P50: 1e6, P99: 2e6}, {Sensor: "a", Name: "fence", P50: 3e6, P99: 9e6}, {Sensor: "b", Name: "fence", P50: 5e6, P99: 6e6},
	})
	assert.Equal(t, []bar{
		{Name: "fence", P50: 5e6, P99: 9e6, P50Share: 55.6, P99Share: 100}, {Name: "send", P50: 1e6, P99: 2e6, P50Share: 11.1, P99Share: 22.2},
	}, bars)
	assert.Empty(t, tabulate(nil))
	assert.Equal(t, []bar{{Name: "copy"}}, tabulate([]pipeline.PartLatency{{Name: "copy"}}), "what takes no time has no share")
}

// TestThePageHasNoPowersOfTen: what is slow or fast is written out.
func TestThePageHasNoPowersOfTen(t *testing.T) {
	slow := []pipeline.PartLatency{{Sensor: "a", Name: "gpu", Count: 1, P50: 1741_300 * time.Microsecond, P99: 123 * time.Second}}
	var text bytes.Buffer
	require.NoError(t, page.Execute(&text, contents{Timeline: slow, Latency: tabulate(slow), Summary: pipeline.Summary{
		Sensors: []carry.SensorSummary{{Topic: "/fast", RateWantedHz: 1e6, RateHz: 987_654}},
	}}))
	for _, want := range []string{"<td>1740 ms</td>", "<td>123000 ms</td>", "<td>1000000</td>", "<td>987700</td>"} {
		assert.Contains(t, text.String(), want)
	}
	assert.NotContains(t, text.String(), "e+0")
}

// frame shows the page 400 pixels wide. It writes how wide it and its tables are, and the
// numbers that are broken: 100 in two lines reads as 10 and 0.
const frame = `<body><iframe id="page" src="report.html" style="border:0;width:400px;height:2000px"></iframe><p id="widths"></p><script>
onload = () => { const page = document.getElementById("page").contentDocument; let text = "page " + page.documentElement.scrollWidth;
for (const table of page.querySelectorAll(".table")) { text += " table " + (table.scrollWidth - table.clientWidth); }
for (const cell of page.querySelectorAll("td")) { const range = page.createRange(); range.selectNodeContents(cell);
if (/^[0-9.]+$/.test(cell.textContent) && range.getClientRects().length > 1) { text += " broken " + cell.textContent; } }
document.getElementById("widths").textContent = text; };</script></body>`

// TestThePageFitsASmallScreen asks a browser, where there is one.
func TestThePageFitsASmallScreen(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium")
	}
	stages := []pipeline.PartLatency{
		{Sensor: "a_camera_with_a_long_name", Name: "gpu", Count: 1000, P50: time.Millisecond, P99: 123456 * time.Microsecond},
		{Sensor: "a_camera_with_a_long_name", Name: "send", Bridge: "rosapollo", Count: 100000, P50: 1, P99: time.Second},
	}
	c := contents{Timeline: stages, Latency: tabulate(stages), Summary: pipeline.Summary{
		SimS: 10, WallS: 20, GPU: pipeline.GPUSummary{Renderer: "NVIDIA_GeForce_RTX_4090_Laptop_GPU/PCIe/SSE2_without_a_space"},
		Bridges: []carry.BridgeSummary{{Type: "mcap", Sent: 123456, Bytes: 1e9}},
		Sensors: []carry.SensorSummary{
			{Topic: "/simulator/front/camera_node/image/compressed", Messages: 123456, RateWantedHz: 13.45, RateHz: 13.44, LatencyP50Ms: 123.45, LatencyP99Ms: 1234.56, Drops: flow.Drops{"readback_full": 1234, "not_connected": 12}},
			{Topic: "/idle", Idle: true},
		},
	}}
	var text bytes.Buffer
	require.NoError(t, page.Execute(&text, c))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ReportFile), text.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "frame.html"), []byte(frame), 0o644))
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--allow-file-access-from-files", "--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+filepath.Join(dir, "frame.html"))
	dom, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(dom), `<p id="widths">page 400 table 0 table 0</p>`)
}
