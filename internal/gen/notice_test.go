package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// NOTICE is compared with what the linker of this very build would take: `go list -deps`
// of the program, and each module's files.
func TestNoticeHasEveryLinkedModule(t *testing.T) {
	modules, err := linked("github.com/raybridge/raybridge/cmd/raybridge")
	require.NoError(t, err)
	require.Greater(t, len(modules), 10)
	want, err := noticeOf(modules)
	require.NoError(t, err)
	have, err := os.ReadFile("../../NOTICE")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "run `make generate` and look at what changed")
	for _, m := range modules {
		assert.Regexp(t, `(?m)^  `+regexp.QuoteMeta(m.Path+" "+m.Version)+`$`, string(have))
	}
}

func TestNoticeOf(t *testing.T) {
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return dir
	}
	a := module{Path: "example.org/a", Version: "v1.0.0", Dir: folder(map[string]string{"LICENSE": "the same\r\ntext\n", "main.go": "package a"})}
	b := module{Path: "example.org/b", Version: "v2.0.0", Dir: folder(map[string]string{"Licence.txt": "the same\ntext"})}
	c := module{Path: "example.org/c", Version: "v3.0.0", Dir: folder(map[string]string{"COPYING": "another", "NOTICE": "its notice"})}
	text, err := noticeOf([]module{a, b, c})
	require.NoError(t, err)
	assert.Contains(t, string(text), "\nexample.org/a v1.0.0\nexample.org/b v2.0.0\n\nthe same\ntext\n", "a shared text stands once")
	assert.Contains(t, string(text), "\nexample.org/c v3.0.0\n\nanother\n\nits notice\n")

	_, err = noticeOf([]module{{Path: "example.org/d", Version: "v1.0.0", Dir: folder(map[string]string{"main.go": "package d"})}})
	assert.EqualError(t, err, "example.org/d v1.0.0 has no licence: a program may not be linked with it")
	_, err = noticeOf([]module{{Path: "example.org/e", Version: "v1.0.0", Dir: filepath.Join(a.Dir, "gone")}})
	assert.ErrorIs(t, err, os.ErrNotExist)
}
