package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/gpu"
)

// Machine describes what the figures were measured on.
type Machine struct {
	CPU       string // the model, "" where the system doesn't tell
	Cores     int
	Platform  string // GOOS/GOARCH
	GoVersion string
	// GPU is nil where no sensor was measured.
	GPU *gpu.Info
	// LoadBefore and LoadAfter are the system's load average of the last minute,
	// negative where it doesn't tell.
	LoadBefore, LoadAfter float64
}

// ThisMachine describes this machine now; End completes it.
func ThisMachine() Machine {
	return Machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GoVersion: runtime.Version(),
		LoadBefore: loadAverage(), LoadAfter: -1,
	}
}

// End notes the load after the benches.
func (m *Machine) End() { m.LoadAfter = loadAverage() }

// busy is the load average above which something else was running: the benches
// themselves come after it.
const busy = 0.5

func (m *Machine) rows() [][2]string {
	rows := [][2]string{
		{"machine", strings.TrimSpace(fmt.Sprintf("%d cores %s", m.Cores, m.CPU))},
		{"program", fmt.Sprintf("%s %s", m.GoVersion, m.Platform)},
	}
	if g := m.GPU; g != nil {
		rows = append(rows, [2]string{"OpenGL", fmt.Sprintf("%s; %s; %s", g.Renderer, g.Version, g.Device)})
	}
	if m.LoadBefore >= 0 {
		text := fmt.Sprintf("%.2f before, %.2f after", m.LoadBefore, m.LoadAfter)
		if m.LoadBefore > busy {
			text += ": other programs were running, the machine can do better"
		}
		rows = append(rows, [2]string{"load", text})
	}
	return rows
}

// cpuModel reads Linux's /proc/cpuinfo.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage reads Linux's /proc/loadavg.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return load
}
