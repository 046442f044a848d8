package sumo

import "syscall"

// killedWithParent: the kernel ends the program when we end, however that comes. A terminal's
// interrupt is for us alone, who tell the program.
func killedWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
