//go:build cgo

package gputest_test

import (
	"bytes"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

func TestMain(m *testing.M) { gputest.Main(m) }

func TestThreadCopiesBuffers(t *testing.T) {
	thread := gputest.Thread(t)
	want := []byte("sixteen bytes ok")
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		src, err := c.NewBuffer(gpu.BufferDesc{Label: "source", Size: len(want), Data: want})
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := c.NewBuffer(gpu.BufferDesc{Label: "staging", Size: len(want), Usage: gpu.UsageReadback})
		if err != nil {
			return err
		}
		defer dst.Close()
		if err := c.CopyBuffer(dst, src, 0, 0, len(want)); err != nil {
			return err
		}
		if err := c.Finish(); err != nil {
			return err
		}
		if !bytes.Equal(dst.Bytes(), want) {
			t.Errorf("copied %q, want %q", dst.Bytes(), want)
		}
		return nil
	})
}
