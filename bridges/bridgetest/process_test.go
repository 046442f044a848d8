package bridgetest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/bridgetest"
)

// What a program prints just before it ends is found like everything else.
func TestLastLineIsExpected(t *testing.T) {
	for range 100 {
		p := bridgetest.StartProcess(t, bridgetest.Program("echo", "ready", "and", "more"))
		assert.Equal(t, "ready and more", p.Expect(t, "ready"))
		assert.Equal(t, "ready and more\n", p.Wait(t))
	}
}

// A user who lacks a peer is told what to run, and nobody else.
func TestHint(t *testing.T) {
	for _, missing := range []string{
		"exec: \"node\": executable file not found in $PATH", "fork/exec /usr/bin/rosmaster: no such file or directory",
		"ModuleNotFoundError: No module named 'rospy'", "code: 'ERR_MODULE_NOT_FOUND'", "code: 'MODULE_NOT_FOUND'",
		"/bin/sh: 1: idlc: not found", "fatal error: dds/dds.h: No such file or directory", "/usr/bin/ld: cannot find -lfastrtps: No such file or directory",
		"./fast_peer: error while loading shared libraries: libfastrtps.so.2.9",
	} {
		assert.Contains(t, bridgetest.SetupHint(missing), "make setup-peers", missing)
	}
	assert.Empty(t, bridgetest.SetupHint("AssertionError: 1 != 2"))
}
