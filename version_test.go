package raybridge

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkout is where the package lies, which TestMain leaves.
var checkout, _ = os.Getwd()

// within runs a command there.
func within(t *testing.T, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = checkout
	out, err := cmd.Output()
	return string(out), err
}

func TestVersionOf(t *testing.T) {
	const (
		unfilled = "$Format:%(describe:tags=true,abbrev=12) %H$\n"
		commit   = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
		pseudo   = "v0.1.1-0.20261122153000-1a2b3c4d5e6f"
	)
	own := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: version}, Settings: settings}
	}
	embedded := func(m debug.Module) *debug.BuildInfo {
		other := debug.Module{Path: "example.org/robot", Version: "v9.9.9"}
		return &debug.BuildInfo{Main: other, Deps: []*debug.Module{{Path: "example.org/x", Version: "v8.8.8"}, &m}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "feed"}}}
	}
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: commit}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, c := range map[string]struct {
		info                   *debug.BuildInfo
		linked, archived, want string
	}{
		"go install of a tag":            {own("v0.1.0"), "", unfilled, "v0.1.0"},
		"a clone with changes":           {own("v0.1.0+dirty", revision, modified), "v0.1.0-dirty", unfilled, "v0.1.0+dirty"},
		"a clone behind a tag":           {own(pseudo, revision), "v0.1.0-3-g1a2b3c4d5e6f", unfilled, pseudo},
		"a commit alone":                 {own("(devel)", revision), "", unfilled, "1a2b3c4d5e6f"},
		"a commit and changes":           {own("", revision, modified), "", unfilled, "1a2b3c4d5e6f+dirty"},
		"make without Go's stamp":        {own("(devel)"), "v0.1.0-3-g1a2b3c4d5e6f", unfilled, "v0.1.0-3-g1a2b3c4d5e6f"},
		"an archive of a tag":            {own("(devel)"), "", "v0.1.0 " + commit + "\n", "v0.1.0"},
		"an archive without tags":        {own("(devel)"), "", " " + commit + "\n", "1a2b3c4d5e6f"},
		"nothing":                        {own("(devel)"), "", unfilled, "dev"},
		"no module":                      {nil, "", unfilled, "dev"},
		"embedded":                       {embedded(debug.Module{Path: modulePath, Version: "v0.1.0"}), "", unfilled, "v0.1.0"},
		"embedded, replaced by another":  {embedded(debug.Module{Path: modulePath, Version: "v0.1.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v0.1.7"}}), "", unfilled, "v0.1.7"},
		"embedded, replaced by a folder": {embedded(debug.Module{Path: modulePath, Version: "v0.1.0", Replace: &debug.Module{Path: "../raybridge"}}), "", unfilled, "dev"},
	} {
		assert.Equal(t, c.want, versionOf(c.info, c.linked, c.archived), name)
	}
}

// TestAnArchiveHasItsCommit: git fills in version.txt.
func TestAnArchiveHasItsCommit(t *testing.T) {
	head, err := within(t, "git", "rev-parse", "HEAD")
	if err != nil {
		t.Skip("no checkout to make an archive of: ", err)
	}
	archive, err := within(t, "git", "archive", "--worktree-attributes", "HEAD", "version.txt")
	require.NoError(t, err)
	assert.Contains(t, archive, strings.TrimSpace(head))
	assert.NotContains(t, archive, "$Format")
	assert.Contains(t, archived, "$Format", "a checkout has it as it is")
}

// TestMakeLinksTheCommit: where Go doesn't stamp a program, as in a linked work tree.
func TestMakeLinksTheCommit(t *testing.T) {
	commands, err := within(t, "make", "-n", "build", "build-portable", "build-ros2dds")
	if err != nil {
		t.Skip("no make: ", err)
	}
	builds := 0
	for line := range strings.Lines(commands) {
		if !strings.Contains(line, " build ") || !strings.Contains(line, "./cmd/raybridge") {
			continue
		}
		builds++
		assert.Contains(t, line, "-X "+modulePath+".linked=", line)
	}
	assert.Equal(t, 3, builds)
}
