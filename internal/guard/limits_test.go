package guard_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/guard"
)

// TestLimitsAreDocumented: the table for users has the value of each limit of a client.
func TestLimitsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/bridges/README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "## What a client may have kept")
	require.True(t, ok)
	for row, value := range map[string]string{
		"a message of a client":              fmt.Sprintf("%d MiB", guard.MessageBytes>>20),
		"all that is kept for a client":      fmt.Sprintf("%d MiB", guard.KeptBytes>>20),
		"a name of an operation":             fmt.Sprintf("%d bytes", guard.NameBytes),
		"an id":                              fmt.Sprintf("%d bytes", guard.IDBytes),
		"elements of a list":                 fmt.Sprint(guard.ListElements),
		"`rosbridge`: topics":                fmt.Sprint(guard.ClientTopics),
		"`rosbridge`: subscriptions":         fmt.Sprint(guard.TopicSubscriptions),
		"`rosbridge`: messages of a topic":   fmt.Sprint(guard.ThrottledMessages),
		"`rosbridge`: calls of one service":  fmt.Sprint(guard.ServiceCalls),
		"`rosbridge`: messages in fragments": fmt.Sprint(guard.FragmentedMessages),
		"`rosbridge`: fragments":             fmt.Sprint(guard.Fragments),
		"`foxglove`: channels":               fmt.Sprint(guard.ClientChannels),
		"`foxglove`: parameters that":        fmt.Sprint(guard.ClientParameters),
		"`foxglove`: a value that":           fmt.Sprintf("%d bytes", guard.ParameterBytes),
		"`foxglove`: calls of services":      fmt.Sprint(guard.ServerCalls),
	} {
		_, rest, ok := strings.Cut(table, "| "+row)
		require.True(t, ok, row)
		line, _, _ := strings.Cut(rest, "\n")
		assert.Contains(t, line, "| "+value+" |", row)
	}
}
