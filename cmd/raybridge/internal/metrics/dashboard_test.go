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

// The parts of an expression that name labels: selectors, the matchers in one, and groups. A legend has labels, too.
var (
	selector = regexp.MustCompile(`\b((?:raybridge|go|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+) *(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring) *\(([^)]*)\)`)
	legend   = regexp.MustCompile(`\{\{ *([a-z_]+) *\}\}`)
)

// unknownLabels are those of an expression and its legend that its metrics haven't in a scrape. Prometheus adds the instance.
func unknownLabels(expr, legendFormat string, there map[string]map[string]bool) (unknown []string) {
	of := map[string]bool{"instance": true}
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		for label := range there[s[1]] {
			of[label] = true
		}
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !there[s[1]][m[1]] && m[1] != "instance" {
				unknown = append(unknown, m[1])
			}
		}
	}
	kept := of
	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		kept = map[string]bool{}
		for label := range strings.SplitSeq(group[1], ",") {
			if label = strings.TrimSpace(label); !of[label] {
				unknown = append(unknown, label)
			}
			kept[label] = true
		}
	}
	for _, l := range legend.FindAllStringSubmatch(legendFormat, -1) {
		if !kept[l[1]] {
			unknown = append(unknown, l[1])
		}
	}
	return unknown
}

// TestUnknownLabels: a wrong label is found wherever it stands.
func TestUnknownLabels(t *testing.T) {
	there := map[string]map[string]bool{"raybridge_a": {"topic": true, "bridge": true}, "raybridge_b": {}}
	for expr, want := range map[string][]string{
		`sum by (topic) (rate(raybridge_a{instance=~"$i", bridge!="x"}[1m]))`: nil,
		`sum by (topics) (raybridge_a)`:                                       {"topics", "topic"}, // the legend's, too
		`sum by (topic) (raybridge_a{bridges="x"})`:                           {"bridges"},
		`raybridge_b`:                   {"topic"},
		`sum by (bridge) (raybridge_a)`: {"topic"},
		`raybridge_a{topic="x"} and raybridge_b{topic=~"y"}`: {"topic"},
	} {
		assert.Equal(t, want, unknownLabels(expr, "{{topic}}", there), expr)
	}
}

// TestTheDashboardsMetrics and its labels are those of a scrape, and so are those of the page. Prometheus itself reads the
// expressions in `make test-peers`.
func TestTheDashboardsMetrics(t *testing.T) {
	w := httptest.NewRecorder()
	Handler(&run{measures: pipeline.Measures{
		Sensors: []pipeline.SensorMeasures{camera(1, "front"), {Serial: 2, Topics: []carry.TopicMeasures{{Topic: "/points", Drops: flow.Drops{flow.CauseNoReturn: 1}}}}},
		Bridges: []carry.BridgeMeasures{{Name: "foxglove", Tallies: []bridges.TopicTally{tally("/front", 1, 1)}}},
	}}, Build{"v", "r", "g"}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	there := map[string]map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		if s := selector.FindStringSubmatch(line); s != nil && !strings.HasPrefix(line, "#") {
			if there[s[1]] == nil {
				there[s[1]] = map[string]bool{}
			}
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				there[s[1]][m[1]] = true
			}
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
			Targets []struct{ Expr, LegendFormat string }
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
				assert.Contains(t, there, name, target.Expr)
			}
			assert.Empty(t, unknownLabels(target.Expr, target.LegendFormat, there), "%s, %s", target.Expr, target.LegendFormat)
		}
	}
	assert.Greater(t, expressions, 15)

	page, err := os.ReadFile("../../../../docs/watch.md")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, name := range metricName.FindAllString(string(page), -1) {
		told[name] = true
		assert.True(t, there[name] != nil || there[name+"_bucket"] != nil || name == "go_" || name == "process_", "docs/watch.md has %s", name)
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
