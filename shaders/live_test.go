//go:build cgo

package shaders_test

import (
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/shaders"
)

func TestMain(m *testing.M) { gputest.Main(m) }

func TestEveryEntryCompiles(t *testing.T) {
	thread := gputest.Thread(t)
	for _, e := range shaders.All() {
		t.Run(e.Name, func(t *testing.T) {
			source, err := shaders.Source(e)
			if err != nil {
				t.Fatal(err)
			}
			gputest.Do(t, thread, func(c *gpu.Ctx) error {
				p, err := c.NewProgram(gpu.ProgramDesc(source))
				if err == nil {
					p.Close()
				}
				return err
			})
		})
	}
}
