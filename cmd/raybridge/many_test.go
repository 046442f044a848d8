package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/config"
)

// TestManyBridgesAreCheckedFast: checking bridges takes work that grows with them, and makes
// no list of all kinds of bridges for each of them.
func TestManyBridgesAreCheckedFast(t *testing.T) {
	c := config.Default()
	for i := range 100 {
		c.Bridges = append(c.Bridges, config.Bridge{Type: "cyber", Connection: fmt.Sprintf("a:%d", i+1)})
	}
	for name, check := range map[string]func(){
		"twice":    func() { require.NoError(t, checkTwice(c.Bridges)) },
		"files":    func() { assert.False(t, recordsFile(c)) },
		"audience": func() { _, err := readAudience([]string{"cyber"}, c); require.NoError(t, err) },
	} {
		t.Run(name, func(t *testing.T) {
			many := c.Bridges
			defer func() { c.Bridges = many }()
			c.Bridges = many[:1]
			one := testing.AllocsPerRun(1, check)
			c.Bridges = many
			assert.Less(t, testing.AllocsPerRun(1, check), one+10*100)
		})
	}
}
