package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
)

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
	stages := []pipeline.Stage{
		{Sensor: "a_camera_with_a_long_name", Name: "gpu", Count: 1000, P50: time.Millisecond, P99: 123456 * time.Microsecond},
		{Sensor: "a_camera_with_a_long_name", Name: "send", Bridge: "rosapollo", Count: 100000, P50: 1, P99: time.Second},
	}
	c := contents{Timeline: stages, Latency: tabulate(stages), Summary: pipeline.Summary{
		SimS: 10, WallS: 20, GPU: pipeline.GPUSummary{Renderer: "NVIDIA_GeForce_RTX_4090_Laptop_GPU/PCIe/SSE2_without_a_space"},
		Bridges: []pipeline.BridgeSummary{{Type: "mcap", Sent: 123456, Bytes: 1e9}},
		Sensors: []pipeline.SensorSummary{
			{Topic: "/simulator/front/camera_node/image/compressed", Messages: 123456, RateWantedHz: 13.45, RateHz: 13.44, LatencyP50Ms: 123.45, LatencyP99Ms: 1234.56, Drops: flow.Drops{"readback_full": 1234, "not_connected": 12}},
			{Topic: "/idle", Idle: true},
		},
	}}
	var text bytes.Buffer
	require.NoError(t, page.Execute(&text, c))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, File), text.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "frame.html"), []byte(frame), 0o644))
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--allow-file-access-from-files", "--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+filepath.Join(dir, "frame.html"))
	dom, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(dom), `<p id="widths">page 400 table 0 table 0</p>`)
}
