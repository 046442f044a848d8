//go:build cgo

package camera_test

import (
	"testing"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// newRig begins the cameras on the package's live context.
func newRig(tb testing.TB, s *scene.Scene, ego scene.Motion, list ...mounted) *rig {
	tb.Helper()
	return newRigOn(tb, gputest.Thread(tb), s, ego, list...)
}
