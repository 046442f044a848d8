package carry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// SensorSummary is one published topic.
type SensorSummary struct {
	Name         string     `json:"name"`
	Type         string     `json:"type"`
	Topic        string     `json:"topic"`
	Messages     int64      `json:"messages"`
	RateWantedHz float64    `json:"rate_wanted_hz"` // 0 without, as of a topic that is latched
	RateHz       float64    `json:"rate_hz"`        // in simulated seconds; /clock's of a realtime run in WallS
	LatencyP50Ms float64    `json:"latency_p50_ms"`
	LatencyP99Ms float64    `json:"latency_p99_ms"`
	Drops        flow.Drops `json:"drops"`
	// Status is the best state of the connections that the messages go through, while the
	// pipeline isn't closed; "" of /clock.
	Status string `json:"status,omitempty"`
	// Listeners is how many receive the topic now, of all bridges to a network, while the pipeline isn't closed.
	Listeners int `json:"listeners,omitempty"`
	// Idle is true where nobody listened, so nothing was computed.
	Idle bool `json:"idle,omitempty"`
	// Ended is true for a sensor that was ended before the run was. One row has all
	// that had its name, type and topic one after another, with the last one's latencies.
	Ended bool `json:"ended,omitempty"`
	// Others is how many ended topics of sensors of this type the row sums up. It has no name and no
	// topic then. The topics that ended last have rows of their own.
	Others int `json:"others,omitempty"`

	// own are those of Drops that no bridge counts.
	own flow.Drops
}

// InputSummary is one topic that a sensor is brought.
type InputSummary struct {
	// Name and Type are the sensor's.
	Name  string `json:"name"`
	Type  string `json:"type"`
	Topic string `json:"topic"`
	// Messages is how many have come.
	Messages int64 `json:"messages"`
	// Drops are messages that came and were never taken, by cause: queue_full where newer
	// ones pushed them out, convert_failed where the sensor panicked.
	Drops flow.Drops `json:"drops"`
	// Ended is true for a sensor that was ended before the run was, Others as in SensorSummary.
	Ended  bool `json:"ended,omitempty"`
	Others int  `json:"others,omitempty"`
}

// ReceivedSummary is one topic that a bridge brings.
type ReceivedSummary struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages int64  `json:"messages"`
}

// BridgeSummary is one bridge.
type BridgeSummary struct {
	// Name is the bridge's in its registry, Type what it speaks: a variant of a bridge has
	// its own name and the same type.
	Name       string `json:"name"`
	Type       string `json:"type"`
	Connection string `json:"connection"`
	Status     string `json:"status"`
	// StatusAtEnd is the status when the bridge was closed, which tells whether its peer was
	// there to the end; before, the same as Status.
	StatusAtEnd string     `json:"status_at_end"`
	Sent        int64      `json:"sent"`
	Bytes       int64      `json:"bytes"`
	Drops       flow.Drops `json:"drops"`
	// EverConnected is false for a bridge that never reached its peer, or only servers of
	// another protocol.
	EverConnected bool `json:"ever_connected"`
	// Connections that were made, Failures of attempts and connections, Malformed messages
	// of peers, which couldn't be read, and Complaints of peers. Of Altered messages numbers
	// were replaced that the peer can't be sent. Refused are those of the failures who weren't
	// let in, by cause. LastError is what failed last, "" for nothing.
	Connections int64            `json:"connections,omitempty"`
	Failures    int64            `json:"failures,omitempty"`
	Malformed   int64            `json:"malformed,omitempty"`
	Complaints  int64            `json:"complaints,omitempty"`
	Altered     int64            `json:"altered,omitempty"`
	Refused     map[string]int64 `json:"refused,omitempty"`
	LastError   string           `json:"last_error,omitempty"`
	// Received are the topics that the bridge subscribes to.
	Received []ReceivedSummary `json:"received,omitempty"`
	// Endpoints say where receivers find the topics of a bridge that they connect to.
	Endpoints []bridges.Endpoint `json:"endpoints,omitempty"`
}

// Row is the outlet's after so many seconds, without the rate that is wanted and the status.
func (o *Outlet) Row(seconds float64) SensorSummary { return o.row(seconds, o.Listening()) }

// row is Row where somebody listens now, or nobody does.
func (o *Outlet) row(seconds float64, listening bool) SensorSummary {
	heard, lost := o.heard(listening), o.lost()
	o.mu.Lock()
	defer o.mu.Unlock()
	row := SensorSummary{Name: o.Topic.Sensor, Type: o.Topic.SensorType, Topic: o.Topic.Name, Messages: o.retired, Drops: lost, own: maps.Clone(o.drops)}
	for _, r := range o.receivers {
		row.Messages = max(row.Messages, r.got)
	}
	row.Idle = row.Messages == 0 && !heard
	row.LatencyP50Ms, row.LatencyP99Ms = float64(o.latency.Quantile(0.5))/1e6, float64(o.latency.Quantile(0.99))/1e6
	if seconds > 0 {
		row.RateHz = float64(row.Messages) / seconds
	}
	return row
}

// ClockRow is the row of /clock after so many seconds, without the rate that is wanted.
func (b *Bridges) ClockRow(seconds float64) SensorSummary {
	row := b.clock.row(seconds, b.clockHeard())
	row.Name, row.Type = "clock", "clock"
	return row
}

// Rows are the rows of the bridges, with what didn't come as far as them.
func (b *Bridges) Rows() []BridgeSummary {
	list := []BridgeSummary{}
	for _, c := range b.all() {
		row := SummaryOf(c.bridge)
		row.Drops.Merge(c.undelivered())
		list = append(list, row)
	}
	return list
}

// Down says which bridges aren't connected, and how they are. Their addresses aren't told.
func (b *Bridges) Down() (list []string) {
	for _, c := range b.all() {
		if status := c.bridge.Status(); status != flow.Connected {
			list = append(list, fmt.Sprintf("the bridge %s is %v", c.bridge.Info().Name, status))
		}
	}
	return list
}

// SummaryOf is the row of a bridge, with what the bridge itself knows. Any goroutine may ask.
func SummaryOf(b *bridges.Bridge) BridgeSummary {
	stats := b.Statistics()
	row := BridgeSummary{
		Name: b.Info().Name, Type: b.Info().Type, Connection: b.Connection(), Status: stats.Status.String(),
		StatusAtEnd: b.StatusAtEnd().String(), Sent: stats.Messages, Bytes: stats.Bytes, Drops: flow.Drops{}, EverConnected: b.EverConnected(),
		Endpoints: b.Endpoints(),
	}
	row.Drops.Merge(stats.Drops)
	fared := b.Diagnosis()
	row.Connections, row.Failures, row.Malformed = fared.Connections, fared.Failures, fared.Malformed
	row.Complaints, row.Altered, row.Refused = fared.Complaints, fared.Altered, fared.Refused
	if fared.LastError != nil {
		row.LastError = fared.LastError.Error()
	}
	for _, t := range stats.Received {
		row.Received = append(row.Received, ReceivedSummary{Topic: t.Topic, Type: t.Type, Messages: t.Messages})
	}
	return row
}

// Lost returns what was lost, by cause. A message that a bridge was to have is counted in the sensor's row and in the
// bridge's, and once in the sum. So a message that two bridges lost counts twice, and a firing once for each topic.
func Lost(outlets []SensorSummary, list []BridgeSummary, inlets []InputSummary) flow.Drops {
	all, lost := flow.Drops{}, flow.Drops{}
	for i := range outlets {
		all.Merge(outlets[i].own)
	}
	for i := range list {
		all.Merge(list[i].Drops)
	}
	for i := range inlets {
		all.Merge(inlets[i].Drops)
	}
	for _, cause := range flow.Losses() {
		if n := all[cause]; n > 0 {
			lost[cause] = n
		}
	}
	return lost
}

// InputRows are the rows of the topics that a sensor is brought.
func (t *Topics) InputRows() []InputSummary {
	var list []InputSummary
	for _, in := range t.Inlets {
		stats := in.subscriber.Stats()
		row := InputSummary{Name: t.Sensor, Type: t.Type, Topic: in.topic, Messages: int64(stats.Sent), Drops: flow.Drops{}}
		row.Drops.Merge(stats.Dropped)
		if n := in.input.Dropped(); n > 0 {
			row.Drops.Add(flow.CauseQueueFull, n)
		}
		list = append(list, row)
	}
	return list
}

// Former are the rows of sensors that have ended. They are replaced as a whole, never changed.
type Former struct {
	Sensors []SensorSummary
	Inputs  []InputSummary
}

// With returns the rows with those of one more sensor that has ended.
func (f Former) With(outlets []SensorSummary, inlets []InputSummary) Former {
	return Former{mergeEnded(f.Sensors, outlets), mergeEnded(f.Inputs, inlets)}
}

// mostFormer is how many ended topics have rows of their own.
const mostFormer = 100

// endedRow is a row R of what has ended.
type endedRow[R any] interface {
	*R
	// identity is the same of rows that are one: a name, a type and a topic, and how many others it sums up.
	identity() (key [3]string, others int)
	// others begins a row of others of the type.
	others() R
	// include adds another row's counts.
	include(other *R)
	// end marks the row.
	end()
}

// mergeEnded adds the rows of a sensor that has ended to those of others, and returns the sum. The
// newest come last. Beyond mostFormer the oldest are summed up by type, in rows that come first.
func mergeEnded[R any, P endedRow[R]](former, rows []R) []R {
	former = slices.Clone(former)
	for _, row := range rows {
		P(&row).end()
		key, _ := P(&row).identity()
		same := func(f R) bool { k, others := P(&f).identity(); return k == key && others == 0 }
		if i := slices.IndexFunc(former, same); i >= 0 {
			P(&row).include(&former[i])
			former = slices.Delete(former, i, i+1)
		}
		former = append(former, row)
	}
	for {
		sums := slices.IndexFunc(former, func(f R) bool { _, others := P(&f).identity(); return others == 0 })
		if sums < 0 || len(former)-sums <= mostFormer {
			return former
		}
		oldest := former[sums]
		key, _ := P(&oldest).identity()
		former = slices.Delete(former, sums, sums+1)
		i := slices.IndexFunc(former[:sums], func(f R) bool { k, _ := P(&f).identity(); return k[1] == key[1] })
		if i < 0 {
			i = sums
			former = slices.Insert(former, i, P(&oldest).others())
		}
		P(&former[i]).include(&oldest)
	}
}

func (row *SensorSummary) identity() ([3]string, int) {
	return [3]string{row.Name, row.Type, row.Topic}, row.Others
}

func (row *SensorSummary) others() SensorSummary {
	return SensorSummary{Type: row.Type, RateWantedHz: row.RateWantedHz, Drops: flow.Drops{}, Idle: true, Ended: true}
}

func (row *SensorSummary) include(other *SensorSummary) {
	if row.Topic == "" {
		row.Others++
		row.LatencyP50Ms, row.LatencyP99Ms = other.LatencyP50Ms, other.LatencyP99Ms
	}
	row.Messages += other.Messages
	row.Drops, row.own = maps.Clone(row.Drops), maps.Clone(row.own) // others may read them
	row.Drops.Merge(other.Drops)
	row.own.Merge(other.own)
	row.Idle = row.Idle && other.Idle
}

func (row *SensorSummary) end() { row.Ended = true }

func (row *InputSummary) identity() ([3]string, int) {
	return [3]string{row.Name, row.Type, row.Topic}, row.Others
}

func (row *InputSummary) others() InputSummary {
	return InputSummary{Type: row.Type, Drops: flow.Drops{}, Ended: true}
}

func (row *InputSummary) include(other *InputSummary) {
	if row.Topic == "" {
		row.Others++
	}
	row.Messages += other.Messages
	row.Drops = maps.Clone(row.Drops) // others may read it
	row.Drops.Merge(other.Drops)
}

func (row *InputSummary) end() { row.Ended = true }
