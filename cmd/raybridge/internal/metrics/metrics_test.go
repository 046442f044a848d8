package metrics

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// histogram is one of durations.
func histogram(list ...time.Duration) flow.Histogram {
	var l flow.Latency
	for _, d := range list {
		l.Add(d)
	}
	return l.Histogram()
}

// run is a Source whose clock the test moves.
type run struct {
	measures pipeline.Measures
	now      time.Time
}

func (r *run) Measures() *pipeline.Measures { return &r.measures }

// scraped returns a registry that checks all it is given.
func (r *run) scraped(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(newCollector(r, Build{"v1", "abc", "go1"}, func() time.Time { return r.now })))
	return registry
}

// camera is a sensor with a topic of its name at one bridge.
func camera(serial uint64, name string) pipeline.SensorMeasures {
	took := histogram(time.Millisecond/2, 3*time.Millisecond, time.Minute)
	return pipeline.SensorMeasures{
		Serial: serial, Name: name, Type: "sensor.camera.rgb",
		Readback: &pipeline.ReadbackMeasures{Completed: 7, Slots: 4, InFlight: 1, Ready: 1, Lent: 1, Fence: took, Copy: took, Wait: took},
		Topics: []carry.TopicMeasures{{
			Topic: "/" + name, Drops: flow.Drops{flow.CauseReadbackFull: 2}, Latency: took,
			Ways: []carry.WayMeasures{{Bridge: "foxglove", Undelivered: flow.Drops{flow.CauseQueueFull: 3}, Queue: took, Send: took, Waiting: 2, WaitingBytes: 100}},
		}},
	}
}

// tally is what a bridge did with a topic that it was given as the n-th.
func tally(topic string, n uint64, messages int64) bridges.TopicTally {
	return bridges.TopicTally{Topic: topic, Addition: n, Counts: flow.Counts{
		Messages: messages, Bytes: 10 * messages, Drops: flow.Drops{flow.CauseQueueFull: 1, flow.CausePeerSlow: 4},
	}}
}

// TestScrape compares what is told of a run, and holds it to the rules of names.
func TestScrape(t *testing.T) {
	scan := pipeline.SensorMeasures{Serial: 2, Name: "lidar", Topics: []carry.TopicMeasures{{Topic: "/points", Drops: flow.Drops{flow.CauseNoReturn: 5, flow.CauseCallbackFailed: 1}}}}
	r := &run{measures: pipeline.Measures{
		Frames: 100, SimulatedS: 1, WallS: 4, Now: 12_500_000_000, Paused: true, DeviceBytes: 4096,
		Sensors: []pipeline.SensorMeasures{camera(1, "front"), scan},
		Own:     []carry.TopicMeasures{{Topic: "/clock"}},
		Bridges: []carry.BridgeMeasures{
			{Name: "foxglove", Network: true, Connected: true, Receivers: 2, Tallies: []bridges.TopicTally{tally("/clock", 1, 30), tally("/front", 2, 20)}},
			{Name: "mcap", Connected: true}, {Name: "mcap"}, // two files, one of which is full
		},
	}}
	registry := r.scraped(t)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(scrape), "raybridge_build_info", "raybridge_frames_total",
		"raybridge_simulated_seconds_total", "raybridge_run_seconds_total", "raybridge_sim_time_seconds", "raybridge_real_time_factor", "raybridge_paused",
		"raybridge_device_memory_bytes", "raybridge_readback_slots", "raybridge_sensor_captures_total", "raybridge_messages_published_total",
		"raybridge_message_bytes_total", "raybridge_empty_scans_total", "raybridge_queue_messages", "raybridge_queue_bytes", "raybridge_bridge_connected",
		"raybridge_receivers", "raybridge_message_latency_seconds"))
	dropped := valuesOf(t, registry, "raybridge_messages_dropped_total")
	for labels, want := range map[string]float64{
		"bridge= cause=readback_full topic=/front": 2, "bridge= cause=skipped topic=/front": 0, "bridge= cause=callback_failed topic=/points": 1,
		"bridge=foxglove cause=queue_full topic=/front": 4, "bridge=foxglove cause=peer_slow topic=/front": 4, "bridge=foxglove cause=write_failed topic=/clock": 0,
	} {
		assert.Contains(t, dropped, labels)
		assert.Equal(t, want, dropped[labels], labels)
	}
	for labels := range dropped {
		assert.NotContains(t, labels, string(flow.CauseNoReturn), "such a scan is published")
	}
	took := valuesOf(t, registry, "raybridge_stage_latency_seconds")
	assert.Equal(t, map[string]float64{"bridge= stage=fence": 3, "bridge= stage=copy": 3, "bridge= stage=wait": 3, "bridge=foxglove stage=queue": 3, "bridge=foxglove stage=send": 3}, took)
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

const scrape = `
# HELP raybridge_bridge_connected 1 while the bridge takes messages: its file is open, or its peer or server is there.
# TYPE raybridge_bridge_connected gauge
raybridge_bridge_connected{bridge="foxglove"} 1
raybridge_bridge_connected{bridge="mcap"} 0
# HELP raybridge_build_info The program, always 1.
# TYPE raybridge_build_info gauge
raybridge_build_info{goversion="go1",revision="abc",version="v1"} 1
# HELP raybridge_device_memory_bytes Buffers and textures on the device that renders.
# TYPE raybridge_device_memory_bytes gauge
raybridge_device_memory_bytes 4096
# HELP raybridge_empty_scans_total Published scans of lidars that hit nothing.
# TYPE raybridge_empty_scans_total counter
raybridge_empty_scans_total{topic="/points"} 5
# HELP raybridge_frames_total Instants that the run has begun.
# TYPE raybridge_frames_total counter
raybridge_frames_total 100
# HELP raybridge_message_bytes_total Bytes of these messages in the bridge's encoding.
# TYPE raybridge_message_bytes_total counter
raybridge_message_bytes_total{bridge="foxglove",topic="/clock"} 300
raybridge_message_bytes_total{bridge="foxglove",topic="/front"} 200
# HELP raybridge_message_latency_seconds Time from the beginning of a message's capture to each of its deliveries.
# TYPE raybridge_message_latency_seconds histogram
raybridge_message_latency_seconds_bucket{topic="/front",le="0.0005"} 1
raybridge_message_latency_seconds_bucket{topic="/front",le="0.001"} 1
raybridge_message_latency_seconds_bucket{topic="/front",le="0.002"} 1
raybridge_message_latency_seconds_bucket{topic="/front",le="0.004"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.008"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.016"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.032"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.064"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.128"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.256"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="0.512"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="1.024"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="2.048"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="4.096"} 2
raybridge_message_latency_seconds_bucket{topic="/front",le="+Inf"} 3
raybridge_message_latency_seconds_sum{topic="/front"} 60.0035
raybridge_message_latency_seconds_count{topic="/front"} 3
# HELP raybridge_messages_published_total Messages that the bridge has sent or written.
# TYPE raybridge_messages_published_total counter
raybridge_messages_published_total{bridge="foxglove",topic="/clock"} 30
raybridge_messages_published_total{bridge="foxglove",topic="/front"} 20
# HELP raybridge_paused 1 while the simulation clock is paused.
# TYPE raybridge_paused gauge
raybridge_paused 1
# HELP raybridge_queue_bytes Bytes of the messages that wait in the dispatcher for the bridge.
# TYPE raybridge_queue_bytes gauge
raybridge_queue_bytes{bridge="foxglove"} 100
raybridge_queue_bytes{bridge="mcap"} 0
# HELP raybridge_queue_messages Messages that wait in the dispatcher for the bridge.
# TYPE raybridge_queue_messages gauge
raybridge_queue_messages{bridge="foxglove"} 2
raybridge_queue_messages{bridge="mcap"} 0
# HELP raybridge_readback_slots Slots for captures on their way back from the device, by what they do.
# TYPE raybridge_readback_slots gauge
raybridge_readback_slots{state="free"} 1
raybridge_readback_slots{state="in_flight"} 1
raybridge_readback_slots{state="lent"} 1
raybridge_readback_slots{state="ready"} 1
raybridge_readback_slots{state="stuck"} 0
# HELP raybridge_real_time_factor Simulated time by wall time, over the whole run.
# TYPE raybridge_real_time_factor gauge
raybridge_real_time_factor 0.25
# HELP raybridge_receivers Receivers of the bridge's topic that has most; none of a file.
# TYPE raybridge_receivers gauge
raybridge_receivers{bridge="foxglove"} 2
raybridge_receivers{bridge="mcap"} 0
# HELP raybridge_run_seconds_total Wall time of the run, from its first instant on.
# TYPE raybridge_run_seconds_total counter
raybridge_run_seconds_total 4
# HELP raybridge_sensor_captures_total Captures that came back from the device with data.
# TYPE raybridge_sensor_captures_total counter
raybridge_sensor_captures_total{sensor="front"} 7
# HELP raybridge_sim_time_seconds The time of the simulation clock.
# TYPE raybridge_sim_time_seconds gauge
raybridge_sim_time_seconds 12.5
# HELP raybridge_simulated_seconds_total Simulated time, without jumps of the clock.
# TYPE raybridge_simulated_seconds_total counter
raybridge_simulated_seconds_total 1
`

// valuesOf returns the values of a metric's series by their labels; of a histogram its counts.
func valuesOf(t testing.TB, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				values[labelsOf(m)] = valueOf(m)
			}
		}
	}
	return values
}

func labelsOf(m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	return strings.Join(labels, " ")
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	default:
		return m.Gauge.GetValue()
	}
}

// TestSeriesOfEndedSensorsGo five minutes after the end, and continue if the sensor comes again, before that and after it.
func TestSeriesOfEndedSensorsGo(t *testing.T) {
	begun := time.Unix(1000, 0)
	r := &run{now: begun, measures: pipeline.Measures{Sensors: []pipeline.SensorMeasures{camera(1, "front")}}}
	// The bridge forgets a topic that is withdrawn, after some others.
	bridge := []carry.BridgeMeasures{{Name: "foxglove", Tallies: []bridges.TopicTally{tally("/front", 1, 20)}}}
	r.measures.Bridges = bridge
	registry := r.scraped(t)
	shows := func(captures, published, lost, took float64) {
		t.Helper()
		for name, want := range map[string]struct {
			labels string
			value  float64
		}{
			"raybridge_sensor_captures_total":    {"sensor=front", captures},
			"raybridge_messages_published_total": {"bridge=foxglove topic=/front", published},
			"raybridge_messages_dropped_total":   {"bridge=foxglove cause=queue_full topic=/front", lost},
			"raybridge_message_latency_seconds":  {"topic=/front", took},
		} {
			got, there := valuesOf(t, registry, name)[want.labels]
			assert.Equal(t, want.value > 0, there, name)
			assert.Equal(t, want.value, got, name)
		}
		assert.Positive(t, valuesOf(t, registry, "raybridge_stage_latency_seconds")["bridge=foxglove stage=send"], "a bridge's stages stay")
	}
	shows(7, 20, 4, 3)

	ended := camera(1, "front")
	ended.Ended, ended.Readback.Completed = begun.Add(time.Minute), 8 // after the last scrape
	r.measures.Sensors, r.measures.Ended = nil, []pipeline.SensorMeasures{ended}
	r.now = ended.Ended.Add(5*time.Minute - 1)
	shows(8, 20, 4, 3)

	r.measures.Sensors = []pipeline.SensorMeasures{camera(2, "front")}
	bridge[0].Tallies = []bridges.TopicTally{tally("/front", 1, 20), tally("/front", 2, 1)}
	shows(15, 21, 8, 6)

	ended = camera(2, "front")
	ended.Ended = r.now
	r.measures.Sensors, r.measures.Ended = nil, append(r.measures.Ended, ended)
	shows(15, 21, 8, 6)
	r.now = r.now.Add(5 * time.Minute)
	shows(0, 0, 0, 0)
	r.measures.Ended, bridge[0].Tallies = nil, nil
	shows(0, 0, 0, 0)
	r.now = r.now.Add(time.Hour)
	r.measures.Sensors = []pipeline.SensorMeasures{camera(3, "front")}
	bridge[0].Tallies = []bridges.TopicTally{tally("/front", 3, 2)}
	shows(22, 23, 12, 9)
}

// TestCountersNeverFall while sensors come and go, their topics are withdrawn and forgotten, and sent messages turn out lost.
func TestCountersNeverFall(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	r := &run{now: time.Unix(1000, 0)}
	registry := r.scraped(t)
	before, serial, published := map[string]float64{}, uint64(0), map[string]int64{}
	r.measures.Bridges = []carry.BridgeMeasures{{Name: "foxglove"}}
	m, tallies := &r.measures, &r.measures.Bridges[0].Tallies
	for range 400 {
		r.now = r.now.Add(time.Duration(random.IntN(60)) * time.Second)
		m.Frames++
		name := fmt.Sprint("s", random.IntN(4))
		at := slices.IndexFunc(m.Sensors, func(s pipeline.SensorMeasures) bool { return s.Name == name })
		switch {
		case at < 0:
			serial++
			m.Sensors = append(m.Sensors, camera(serial, name))
			*tallies = append(*tallies, tally("/"+name, serial, 0))
		case random.IntN(3) == 0:
			s := m.Sensors[at]
			s.Ended = r.now
			m.Sensors = slices.Delete(m.Sensors, at, at+1)
			m.Ended = append(m.Ended[max(len(m.Ended)-2, 0):], s)
			if first := (*tallies)[0].Addition; len(*tallies) > 6 && !slices.ContainsFunc(m.Sensors, func(s pipeline.SensorMeasures) bool { return s.Serial == first }) {
				*tallies = slices.Delete(*tallies, 0, 1)
			}
		default:
			m.Sensors[at].Readback.Completed++
			for i := range *tallies {
				if c := &(*tallies)[i]; c.Addition == m.Sensors[at].Serial {
					c.Messages++
					published[c.Topic]++
				}
			}
		}
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, series := range f.GetMetric() {
				if f.GetType() != dto.MetricType_GAUGE {
					k, v := f.GetName()+" "+labelsOf(series), valueOf(series)
					require.GreaterOrEqual(t, v, before[k], k)
					before[k] = v
				}
			}
		}
		for topic, n := range valuesOf(t, registry, "raybridge_messages_published_total") {
			require.EqualValues(t, published[strings.TrimPrefix(topic, "bridge=foxglove topic=")], n, topic)
		}
	}
	(*tallies)[0].Messages -= 5
	require.EqualValues(t, published[(*tallies)[0].Topic], valuesOf(t, registry, "raybridge_messages_published_total")["bridge=foxglove topic="+(*tallies)[0].Topic])
}

// TestFewAreRemembered of the sensors that have ended: those that ended last.
func TestFewAreRemembered(t *testing.T) {
	l := ledger{rows: map[key]*row{}}
	for i := range mostGone + 10 {
		l.begin()
		l.tell(key{topic: fmt.Sprint("/", i)}, source{of: uint64(i)}, &counts{}).live = true
		l.end(time.Unix(int64(i), 0))
	}
	assert.Len(t, l.rows, mostGone+1)
	assert.NotContains(t, l.rows, key{topic: "/8"})
	assert.Contains(t, l.rows, key{topic: "/9"})
}

// TestRowsThatAreToldOfStay, however many there are: their series don't come again, and their counts don't either.
func TestRowsThatAreToldOfStay(t *testing.T) {
	l := ledger{rows: map[key]*row{}}
	ended := time.Unix(1000, 0)
	for round := range 3 {
		l.begin()
		for i := range mostGone + 10 {
			l.tell(key{topic: fmt.Sprint("/", i)}, source{of: uint64(i)}, &counts{messages: 1}).ended(ended)
		}
		now := ended.Add(time.Duration(round) * lingering)
		l.end(now)
		assert.Len(t, l.rows, mostGone+10)
		for _, r := range l.rows {
			require.Equal(t, round == 0, r.shown(now))
		}
	}
	l.begin()
	l.end(ended)
	assert.Len(t, l.rows, mostGone, "nobody tells of them any more")
}

// TestHandler has the program's own metrics besides, and answers in the text format.
func TestHandler(t *testing.T) {
	h := Handler(&run{measures: pipeline.Measures{Sensors: []pipeline.SensorMeasures{camera(1, "front")}}}, Build{})
	var others sync.WaitGroup // scrapes at once share the labels of series
	defer others.Wait()
	for range 4 {
		others.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			assert.Equal(t, http.StatusOK, w.Code)
			assert.Contains(t, w.Body.String(), "\nraybridge_sensor_captures_total{sensor=\"front\"} 7\n")
		})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Contains(t, w.Header().Get("Content-Type"), "text/plain; version=0.0.4")
	for _, name := range []string{"raybridge_frames_total 0", "go_goroutines ", "process_cpu_seconds_total "} {
		assert.Contains(t, w.Body.String(), "\n"+name)
	}
}
