package raybridge

import (
	"os"
	"os/exec"
	"path/filepath"
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
		before   = "v0.2.0-dev.20261122153000.1a2b3c4d5e6f"
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
		"a clone with changes":           {own("v0.1.0+dirty", revision, modified), "", unfilled, "v0.1.0+dirty"},
		"a clone behind a tag":           {own(pseudo, revision), "", unfilled, pseudo},
		"make in a clone behind a tag":   {own(pseudo, revision), before, unfilled, before},
		"a commit alone":                 {own("(devel)", revision), "", unfilled, "1a2b3c4d5e6f"},
		"a commit and changes":           {own("", revision, modified), "", unfilled, "1a2b3c4d5e6f+dirty"},
		"make without Go's stamp":        {own("(devel)"), before, unfilled, before},
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

// TestVersionScript: the tag, or a build before the next release in the order of its time, and whether files were changed.
func TestVersionScript(t *testing.T) {
	dir := t.TempDir()
	in := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo", "GIT_COMMITTER_DATE=2026-11-22T15:30:00Z", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	for _, file := range []string{"scripts/version.sh", "python/raybridge/__init__.py"} {
		data, err := os.ReadFile(filepath.Join(checkout, file))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o755))
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: ", err)
	}
	in("git", "init", "-q")
	in("git", "add", ".")
	in("git", "commit", "-q", "-m", "first")
	before := in("scripts/version.sh")
	assert.Regexp(t, `^v\d+\.\d+\.\d+-dev\.20261122153000\.`+in("git", "rev-parse", "--short=12", "HEAD")+`$`, before)
	in("git", "tag", "other")
	assert.Equal(t, before, in("scripts/version.sh"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o644))
	assert.Equal(t, before+"+dirty", in("scripts/version.sh"))
	require.NoError(t, os.Remove(filepath.Join(dir, "new.go")))
	in("git", "tag", "v7.8.9")
	assert.Equal(t, "v7.8.9", in("scripts/version.sh"))
}

// TestMakeLinksTheCommit: also where Go doesn't stamp a program, as in a linked work tree.
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
