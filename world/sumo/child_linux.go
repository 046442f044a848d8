package sumo

import "syscall"

// endsWithUs: the kernel ends the program when we end, however that comes. A terminal's
// interrupt is for us alone, who tell the program.
func endsWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
