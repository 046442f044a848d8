package sweep

import "os"

// Process says which process has made a record. Numbers of processes are used again, and machines may have one name.
type Process struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Space string `json:"space,omitempty"` // of process numbers, on one machine since it has started
	Born  string `json:"born,omitempty"`  // when the process began, in ticks since then
}

// thisProcess is ours.
func thisProcess() Process {
	return Process{Host: hostName(), PID: os.Getpid(), Space: processSpace(), Born: processBorn(os.Getpid())}
}

// here reports whether the process is one of this machine, so that it shows whether it lives.
func (p *Process) here() bool {
	return p.Host == hostName() && p.Space == processSpace() && p.Space != ""
}

// ended reports whether the process is known to have ended. One that nobody can see from here isn't.
func (p *Process) ended() bool {
	return p.here() && (!processLives(p.PID) || p.Born != "" && p.Born != processBorn(p.PID))
}
