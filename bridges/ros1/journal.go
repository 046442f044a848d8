package ros1

import (
	"log/slog"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/netfault"
)

// journal counts and logs how the node fares. Its methods may be called from any
// goroutine.
type journal struct {
	log *slog.Logger

	mu      sync.Mutex
	counted bridges.Diagnosis // guarded by mu
	outage  bool              // guarded by mu: the master is away, and that was logged
	// told is when each kind of trouble with other nodes was logged last; guarded by mu.
	told [troubles]time.Time
}

// trouble is a kind of failure that comes from other nodes, often again and again.
type trouble int

const (
	malformed trouble = iota // what they sent can't be read
	failed                   // a connection with them, or its messages are of another type
	refused                  // they weren't let in, by package guard's rules
	troubles  = 3
)

// quiet is the time between two log lines of one kind of trouble.
const quiet = 10 * time.Second

func (j *journal) diagnosis() bridges.Diagnosis {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counted
}

// connected notes a registration at the master.
func (j *journal) connected(node, master string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counted.Connections++
	j.outage = false
	j.log.Info("registered at the ROS master", "node", node, "master", master)
}

// lost notes that the master can't be found or is gone; one line an outage.
func (j *journal) lost(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counted.Failures++
	err = netfault.Explain(err)
	j.counted.LastError = err
	if !j.outage {
		j.log.Warn("not registered at the ROS master, trying again", "error", err)
	}
	j.outage = true
}

// note counts trouble with another node.
func (j *journal) note(kind trouble, who string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err = netfault.Explain(err)
	if kind == malformed {
		j.counted.Malformed++
		j.counted.LastError = err
	} else {
		j.counted.Fail(err)
	}
	if now := time.Now(); now.Sub(j.told[kind]) >= quiet {
		j.told[kind] = now
		j.log.Warn("trouble with another ROS node", "peer", who, "error", err)
	}
}
