package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/metrics"
)

// TestSweep: each count of a coordinator has its series.
func TestSweep(t *testing.T) {
	t.Parallel()
	read := func() metrics.Sweep {
		return metrics.Sweep{Done: 1, Failed: 2, Running: 3, Waiting: 4, Workers: 5, Offers: 6, Redeliveries: 7, Requeued: 8, Silent: 9}
	}
	answer := httptest.NewRecorder()
	metrics.SweepHandler(read, metrics.Build{Version: "v1"}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`raybridge_sweep_cases{state="done"} 1`, `raybridge_sweep_cases{state="failed"} 2`, `raybridge_sweep_cases{state="running"} 3`, `raybridge_sweep_cases{state="waiting"} 4`,
		"raybridge_sweep_leases 3", "raybridge_sweep_workers 5", "raybridge_sweep_offers_total 6", "raybridge_sweep_redeliveries_total 7", "raybridge_sweep_requeued_total 8",
		"raybridge_sweep_workers_lost_total 9", `raybridge_build_info{goversion="",revision="",version="v1"} 1`,
	} {
		assert.Contains(t, answer.Body.String(), "\n"+line+"\n")
	}
}
