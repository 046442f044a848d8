package bench

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// peakMemory watches how much resident memory the process needs at most.
type peakMemory struct{ fresh bool }

// watchMemory starts the peak anew, as far as the system allows (proc(5),
// clear_refs).
func watchMemory() peakMemory {
	debug.FreeOSMemory()
	return peakMemory{os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil}
}

// result returns the peak since watchMemory, nothing where the system doesn't tell.
func (p peakMemory) result(bench string) []Result {
	peak, ok := residentPeak()
	if !ok {
		return nil
	}
	note := "most resident memory of the process, scene generation included"
	if !p.fresh {
		note += ", since its start"
	}
	return []Result{{Name: "memory.rss_bytes", Case: bench, Unit: "bytes", Runs: []float64{peak}, Note: note}}
}

// residentPeak reads VmHWM from Linux's /proc/self/status (proc(5)).
func residentPeak() (bytes float64, ok bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024, err == nil
		}
	}
	return 0, false
}
