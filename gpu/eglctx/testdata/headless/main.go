// Command headless opens a context without a window and prints what it got:
// the smallest program of the kind, for tests of what such a binary needs.
package main

import (
	"fmt"
	"os"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
)

func main() {
	device := ""
	if len(os.Args) > 1 {
		device = os.Args[1]
	}
	thread, err := gpu.Start(eglctx.Open(eglctx.Options{Device: device}))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(3)
	}
	info := thread.Info()
	fmt.Println("device:", info.Device)
	fmt.Println("renderer:", info.Renderer)
	fmt.Println("software:", info.Software)
	for _, line := range info.Missing {
		fmt.Println("missing:", line)
	}
	if err := thread.Close(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}
