//go:build !cgo

package eglctx_test

import (
	"errors"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
)

func TestWithoutCgoThereIsNoOpenGL(t *testing.T) {
	if _, err := eglctx.Open(eglctx.Options{})(); !errors.Is(err, gpu.ErrNotSupported) {
		t.Errorf("open: %v, want gpu.ErrNotSupported", err)
	}
	if _, err := eglctx.Devices(); !errors.Is(err, gpu.ErrNotSupported) {
		t.Errorf("devices: %v, want gpu.ErrNotSupported", err)
	}
}
