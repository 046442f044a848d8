package metrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// metricName is one of those that expressions may have.
var metricName = regexp.MustCompile(`\b(?:raybridge|go|process)_[a-z_]+`)

// TestTheDashboardsMetrics and its labels are those of a scrape, and so are those of the page. Prometheus itself reads the
// expressions in `make test-peers`.
func TestTheDashboardsMetrics(t *testing.T) {
	w := httptest.NewRecorder()
	Handler(&run{measures: pipeline.Measures{
		Sensors: []pipeline.SensorMeasures{camera(1, "front"), {Serial: 2, Topics: []carry.TopicMeasures{{Topic: "/points", Drops: flow.Drops{flow.CauseNoReturn: 1}}}}},
		Bridges: []carry.BridgeMeasures{{Name: "foxglove", Tallies: []bridges.TopicTally{tally("/front", 1, 1)}}},
	}}, Build{"v", "r", "g"}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	there := map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		if name := metricName.FindString(line); !strings.HasPrefix(line, "#") {
			there[name] = true
		}
	}
	text, err := os.ReadFile("../../../../deploy/grafana/raybridge.json")
	require.NoError(t, err)
	var board struct {
		UID           string
		SchemaVersion int
		Panels        []struct {
			ID      int
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	assert.NotEmpty(t, board.UID)
	assert.GreaterOrEqual(t, board.SchemaVersion, 39)
	ids, expressions := map[int]bool{}, 0
	for _, p := range board.Panels {
		assert.False(t, ids[p.ID], "panels have ids of their own")
		ids[p.ID] = true
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24)
		for _, target := range p.Targets {
			expressions++
			names := metricName.FindAllString(target.Expr, -1)
			assert.NotEmpty(t, names, target.Expr)
			for _, name := range names {
				assert.True(t, there[name], "%s has %s", target.Expr, name)
			}
		}
	}
	assert.Greater(t, expressions, 15)

	page, err := os.ReadFile("../../../../docs/watch.md")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, name := range metricName.FindAllString(string(page), -1) {
		told[name] = true
		assert.True(t, there[name] || there[name+"_bucket"] || name == "go_" || name == "process_", "docs/watch.md has %s", name)
	}
	for name := range there {
		if strings.HasPrefix(name, "raybridge_") {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			assert.True(t, told[name], "docs/watch.md lacks %s", name)
		}
	}
}
