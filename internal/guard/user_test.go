package guard

import "testing"

// TestAdmits: a user's socket is for that user and root.
func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		user, own int
		want      bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1000, 0, false}, {1001, 1000, false}, {-1, 1000, false}} {
		if got := admits(c.user, c.own); got != c.want {
			t.Errorf("user %d at the socket of %d: %v", c.user, c.own, got)
		}
	}
}
