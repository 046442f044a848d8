package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAWindowNeedsADisplay(t *testing.T) {
	t.Setenv("DISPLAY", "")
	var stdout, stderr strings.Builder
	root := newRoot(&stdout, &stderr)
	root.SetArgs([]string{"run", "--window"})
	err := root.ExecuteContext(t.Context())
	assert.Equal(t, exitNoOpenGL, exitCode(err), "%v", err)
	assert.ErrorContains(t, err, "--headless")
}

func TestAWindowedRunTakesADevice(t *testing.T) {
	var stdout, stderr strings.Builder
	root := newRoot(&stdout, &stderr)
	root.SetArgs([]string{"run", "--window", "--gpu", "fast"})
	err := root.ExecuteContext(t.Context())
	assert.Equal(t, exitUsage, exitCode(err), "%v", err)
	assert.ErrorContains(t, err, "--gpu")
}
