package process_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/bridgetest/process"
)

// What a program prints just before it ends is found like everything else.
func TestLastLineIsExpected(t *testing.T) {
	for range 100 {
		p := process.Start(t, process.Program("echo", "ready", "and", "more"))
		assert.Equal(t, "ready and more", p.Expect(t, "ready"))
		assert.Equal(t, "ready and more\n", p.Wait(t))
	}
}
