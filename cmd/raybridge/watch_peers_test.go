//go:build cgo && peers

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unpacked is a program of Debian's package prometheus, which `make setup-peers` unpacks.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(bridgetest.PeerPackages(), "prometheus", "usr", "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make setup-peers", err)
	}
	return path
}

// asked is the answer to GET of an address, with a token unless it is "".
func asked(t *testing.T, address, token string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", address, text)
	return text
}

// monitor is a Prometheus that runs.
type monitor struct{ address string }

// startPrometheus scrapes a run every second.
func startPrometheus(t *testing.T, target, tokenFile string) monitor {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	dir := t.TempDir()
	config := write(t, dir, "prometheus.yml", fmt.Sprintf(`scrape_configs:
  - job_name: raybridge
    scrape_interval: 1s
    authorization: {credentials_file: %s}
    static_configs: [{targets: [%q]}]
`, tokenFile, target))
	p := bridgetest.StartProcess(t, bridgetest.Program(unpacked(t, "prometheus"),
		"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address))
	p.Expect(t, "Server is ready to receive web requests")
	return monitor{"http://" + address}
}

// query returns the values of an expression by their labels.
func (m monitor) query(t *testing.T, expr string) map[string]string {
	t.Helper()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(asked(t, m.address+"/api/v1/query?query="+url.QueryEscape(expr), ""), &answer))
	require.Equal(t, "success", answer.Status, answer.Error)
	values := map[string]string{}
	for _, r := range answer.Data.Result {
		values[fmt.Sprint(r.Metric)] = fmt.Sprint(r.Value[1])
	}
	return values
}

// one is the value of an expression that has one.
func (m monitor) one(t *testing.T, expr string) string {
	t.Helper()
	values := m.query(t, expr)
	require.Len(t, values, 1, "%s: %v", expr, values)
	for _, v := range values {
		return v
	}
	return ""
}

// TestPeerPrometheus scrapes a run for twenty seconds: each scrape succeeds, nothing falls, and each expression of the
// dashboard has a result.
func TestPeerPrometheus(t *testing.T) {
	needsOpenGL(t)
	dir := t.TempDir()
	token := write(t, dir, "token", aToken+"\n")
	run := startServing(t, dir, "--realtime", "--bridge", "mcap:a.mcap", "--bridge", "stream:127.0.0.1:0", "--api", "127.0.0.1:0", "--api-token-file", token)
	api := regexp.MustCompile(`API on http://(\S+)`).FindStringSubmatch(run.errOut.await(t, "API on http"))[1]
	m := startPrometheus(t, api, token)

	check := bridgetest.Program("sh", "-c", fmt.Sprintf("%s check metrics < %s && echo content", unpacked(t, "promtool"),
		write(t, dir, "scrape", string(asked(t, "http://"+api+"/metrics", aToken)))))
	said := bridgetest.StartProcess(t, check).Wait(t)
	assert.Equal(t, "content", strings.TrimSpace(said))

	page, err := os.ReadFile("../../docs/watch.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```").FindSubmatch(page)
	require.NotNil(t, shown)
	ofPage := write(t, dir, "page.yml", strings.ReplaceAll(string(shown[1]), "/etc/prometheus/raybridge-token", token))
	assert.Contains(t, bridgetest.StartProcess(t, bridgetest.Program(unpacked(t, "promtool"), "check", "config", ofPage)).Wait(t), "SUCCESS")

	const scrapes = 20
	require.Eventually(t, func() bool {
		return len(m.query(t, fmt.Sprintf("count_over_time(up[1h]) >= %d", scrapes))) == 1
	}, patience, 250*time.Millisecond)
	assert.Equal(t, "1", m.one(t, "min_over_time(up[1h])"))
	var targets struct {
		Data struct {
			ActiveTargets []struct{ Health, LastError string }
		}
	}
	require.NoError(t, json.Unmarshal(asked(t, m.address+"/api/v1/targets", ""), &targets))
	require.Len(t, targets.Data.ActiveTargets, 1)
	assert.Equal(t, "up", targets.Data.ActiveTargets[0].Health)
	assert.Empty(t, targets.Data.ActiveTargets[0].LastError)
	for _, name := range []string{"raybridge_frames_total", "raybridge_messages_published_total", "raybridge_message_bytes_total", "raybridge_messages_dropped_total", "raybridge_sensor_captures_total", "raybridge_message_latency_seconds_bucket"} {
		for labels, n := range m.query(t, "resets("+name+"[1h])") {
			assert.Equal(t, "0", n, "%s%s fell", name, labels)
		}
	}
	assert.Equal(t, "1", m.one(t, `raybridge_bridge_connected{bridge="mcap"}`))
	assert.NotEqual(t, "0", m.one(t, `raybridge_messages_published_total{bridge="mcap",topic="/imu/data"}`))
	m.checkDashboard(t)

	run.interrupt()
	ended := run.end(t)
	assert.NotContains(t, ended.err, "refused a client")
}

// checkDashboard asks for each expression of the dashboard, as Grafana does for all runs and topics.
func (m monitor) checkDashboard(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/raybridge.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name string }
		}
	}
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&board))
	values := []string{"$__rate_interval", "10s"}
	for _, v := range board.Templating.List {
		values = append(values, "$"+v.Name, ".*")
	}
	replacer, asked := strings.NewReplacer(values...), 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			expr := replacer.Replace(target.Expr)
			assert.NotContains(t, expr, "$", "%s: a variable that isn't there", p.Title)
			assert.NotEmpty(t, m.query(t, expr), "%s: %s", p.Title, expr)
			asked++
		}
	}
	assert.Greater(t, asked, 15)
}
