package sweep

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
)

// State is how far a sweep is, by its store.
type State struct {
	Sweep   string `json:"sweep"`
	Version string `json:"version"`
	Class   string `json:"class"`
	Total   int    `json:"total"`
	Done    int    `json:"done"`
	Failed  int    `json:"failed"`
	Activity
	// RatePerMin is how many cases were done a minute, over the last ten minutes in which some were; 0 where that isn't known.
	RatePerMin float64 `json:"rate_per_min"`
	// LeftS is how long the rest takes at that rate, seconds; 0 where that isn't known.
	LeftS     float64      `json:"left_s"`
	Cancelled bool         `json:"cancelled,omitempty"`
	Alarms    []string     `json:"alarms,omitempty"` // folders of results that differ from the first of their case
	Failures  []FailedCase `json:"failures,omitempty"`
}

// Activity is what works on a sweep.
type Activity struct {
	// Running is how many attempts are being made, and Lost how many aren't any longer: their processes have ended, or have
	// given no sign of life for a minute. A lost one counts for nothing, and its case is run again.
	Running   int           `json:"running"`
	Lost      int           `json:"lost"`
	Cases     []RunningCase `json:"cases,omitempty"` // that are running
	LostCases []RunningCase `json:"lost_cases,omitempty"`
	// Coordinator has the lock, "" for nobody. CoordinatorLost: it gave no sign of life for a minute.
	Coordinator     string `json:"coordinator,omitempty"`
	CoordinatorLost bool   `json:"coordinator_lost,omitempty"`
	// Workers are those of other machines, by the coordinator's word.
	Workers []WorkerState `json:"workers,omitempty"`
}

// FailedCase is a case that failed for good, for people.
type FailedCase struct {
	ID       string `json:"id"`
	Label    string `json:"label,omitempty"` // settings
	Seed     uint64 `json:"seed"`
	Code     int    `json:"code"`
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason"`
}

// RunningCase is a case that is running, or whose attempt was lost.
type RunningCase struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"` // of the sweep's process
	Started time.Time `json:"started"`
	// ForS is how long ago the attempt began, and SilentS how long its last sign of life is ago, seconds by the clock of the
	// file system.
	ForS    float64 `json:"for_s"`
	SilentS float64 `json:"silent_s"`
}

// runningCases are attempts for people.
func runningCases(works []work) (list []RunningCase) {
	for i := range works {
		w := &works[i]
		list = append(list, RunningCase{w.ID, w.Host, w.PID, w.Started, w.since.Seconds(), w.silent.Seconds()})
	}
	return list
}

// Activity looks what works on the sweep.
func (s *Store) Activity() (a Activity, err error) {
	running, lost, err := s.running()
	if err != nil {
		return a, err
	}
	a = Activity{Running: len(running), Lost: len(lost), Cases: runningCases(running), LostCases: runningCases(lost)}
	if a.Coordinator, a.CoordinatorLost, err = s.Coordinator(); err == nil && a.Coordinator != "" {
		a.Workers, err = s.Workers()
	}
	return a, err
}

// State looks how far the sweep is.
func (s *Store) State(p *Plan) (*State, error) {
	st := &State{Sweep: p.Sweep(), Version: p.Version, Class: p.Class, Total: len(p.Cases), Cancelled: s.Cancelled()}
	failed, err := s.Failed()
	if err != nil {
		return nil, err
	}
	var times []time.Time
	for i := range p.Cases {
		c := &p.Cases[i]
		info, err := s.root.Lstat(path.Join(caseDir(c.ID), manifestFile))
		switch f := failed[c.ID]; {
		case err == nil && info.Mode().IsRegular():
			times = append(times, info.ModTime())
		case f != nil:
			st.Failures = append(st.Failures, FailedCase{c.ID, p.Label(c), c.Seed, f.Code, f.Attempts, f.Reason})
		}
	}
	st.Done, st.Failed = len(times), len(st.Failures)
	st.RatePerMin, st.LeftS = rate(times, st.Total-st.Done-st.Failed)
	if st.Alarms, err = s.Alarms(); err != nil {
		return nil, err
	}
	st.Activity, err = s.Activity()
	return st, err
}

// rate is how many cases are done a minute, and how long so many more take, by the times of the file system alone.
func rate(times []time.Time, left int) (perMinute, leftS float64) {
	if len(times) < 2 {
		return 0, 0
	}
	slices.SortFunc(times, time.Time.Compare)
	last := times[len(times)-1]
	const window = 10 * time.Minute
	first, _ := slices.BinarySearchFunc(times, last.Add(-window), time.Time.Compare)
	span := last.Sub(times[first]).Minutes()
	if span <= 0 {
		return 0, 0
	}
	perMinute = float64(len(times)-1-first) / span
	return perMinute, float64(left) / perMinute * 60
}

// Estimate is what a case takes, by those that are done.
type Estimate struct {
	// Cases that are done say that one takes WallS seconds and so many bytes; 0 of them say nothing.
	Cases int     `json:"cases"`
	WallS float64 `json:"wall_s"`
	Bytes int64   `json:"bytes"`
}

// Estimate looks at some of a plan's cases that are done.
func (s *Store) Estimate(p *Plan) (*Estimate, error) {
	const enough = 100
	e := &Estimate{}
	for i := range p.Cases {
		id := p.Cases[i].ID
		if !s.has(id) {
			continue
		}
		t, err := s.Timing(id)
		if err != nil {
			return nil, err
		}
		size, err := s.size(caseDir(id))
		if err != nil {
			return nil, err
		}
		e.Cases, e.WallS, e.Bytes = e.Cases+1, e.WallS+t.WallS, e.Bytes+size
		if e.Cases == enough {
			break
		}
	}
	if e.Cases > 0 {
		e.WallS, e.Bytes = e.WallS/float64(e.Cases), e.Bytes/int64(e.Cases)
	}
	return e, nil
}

// size is how many bytes the files of a folder have.
func (s *Store) size(dir string) (size int64, err error) {
	err = fs.WalkDir(s.root.FS(), dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, s.fault(err)
}

// Label is a case's settings in a line, for people.
func (p *Plan) Label(c *Case) string {
	var parts []string
	for i, v := range c.Values {
		if v != "" {
			parts = append(parts, fault.Printable(p.Keys[i]+"="+v))
		}
	}
	return strings.Join(parts, " ")
}
