package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentedOption is a key in the first cell of a row: `key`, `key=VALUE` or several.
var documentedOption = regexp.MustCompile("`([a-z_]+)(?:=[^`]*)?`")

// documentedOptions returns the options in the table of a page, with their defaults as they
// are written there.
func documentedOptions(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	options := map[string]string{}
	column := 0 // of the defaults; 0 outside the table
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, ","), "|")
		if len(cells) < 3 {
			column = 0
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[1] == "option" {
			column = slices.Index(cells, "default")
			continue
		}
		if column == 0 || strings.HasPrefix(cells[1], "--") {
			continue
		}
		keys := documentedOption.FindAllStringSubmatch(strings.ReplaceAll(cells[1], "&", "` `"), -1)
		defaults := strings.Split(strings.ReplaceAll(cells[column], "`", ""), ", ")
		for i, key := range keys {
			options[key[1]] = defaults[min(i, len(defaults)-1)]
		}
	}
	return options
}

// TestPagesHaveTheOptions: the table of a bridge's page has its options and their defaults;
// an option without one may say there what holds instead.
func TestPagesHaveTheOptions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cyber", "foxglove", "mcap", "ros1", "ros2dds", "ros2lgsvl", "rosbridge", "velodyne"} {
		plugin, err := bridgesall.Registry().Plugin(name)
		require.NoError(t, err)
		documented := documentedOptions(t, filepath.Join("..", "..", "docs", "bridges", name+".md"))
		for _, o := range plugin.Info().Options {
			written, ok := documented[o.Key]
			assert.True(t, ok, "%s: %s is not in the page's table", name, o.Key)
			if o.Default != "" {
				assert.Equal(t, o.Default, written, "%s: default of %s", name, o.Key)
			}
			delete(documented, o.Key)
		}
		assert.Empty(t, documented, "%s: in the page alone", name)
	}
}

// TestPagesNameTheOptions: those of bridges whose pages have no table.
func TestPagesNameTheOptions(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{"rosapollo": "bridges/rosapollo.md", "carla": "carla-streams.md", "stream": "streams.md", "logging": "logging.md"} {
		plugin, err := bridgesall.Registry().Plugin(name)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		require.NoError(t, err)
		for _, o := range plugin.Info().Options {
			assert.Regexp(t, "[`?&]"+o.Key+"[`=]", string(text), name)
		}
	}
}

// TestFilesAndPeers: a bridge that has both is a file where its connection string names one, as a
// run needs to know that records.
func TestFilesAndPeers(t *testing.T) {
	t.Parallel()
	file, peer := config.Bridge{Type: "velodyne", Connection: "drive.pcap?sensor=roof"}, config.Bridge{Type: "velodyne", Connection: "robot?sensor=drive.pcap"}
	assert.True(t, recordsFile([]config.Bridge{peer, file}))
	assert.True(t, writesBelowOut([]config.Bridge{file}))
	assert.False(t, recordsFile([]config.Bridge{peer}))
	assert.False(t, writesBelowOut([]config.Bridge{peer, {Type: "velodyne", Connection: "/tmp/drive.pcap"}}))
	assert.Error(t, checkTwice([]config.Bridge{file, {Type: "velodyne", Connection: "drive.pcap?sensor=rear"}}), "one file for two lidars")
	assert.NoError(t, checkTwice([]config.Bridge{peer, {Type: "velodyne", Connection: "robot?sensor=rear"}}))
}

// TestManyBridgesAreCheckedFast: checking bridges takes work that grows with them, and makes
// no list of all kinds of bridges for each of them.
func TestManyBridgesAreCheckedFast(t *testing.T) {
	c := config.Default()
	for i := range 100 {
		c.Bridges = append(c.Bridges, config.Bridge{Type: "cyber", Connection: fmt.Sprintf("a:%d", i+1)})
	}
	for name, check := range map[string]func(){
		"twice":    func() { require.NoError(t, checkTwice(c.Bridges)) },
		"files":    func() { assert.False(t, recordsFile(c.Bridges)) },
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
