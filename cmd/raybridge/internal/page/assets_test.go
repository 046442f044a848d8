package page

import (
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/scene"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	imported  = regexp.MustCompile(`(?:from |import |new URL\()'\./([^']+)'`)
	tagOfPage = regexp.MustCompile(`\['(\w+)', (\d+), (\d+), (\d+)\]`)
	inline    = regexp.MustCompile(`<style|<script(?:[^>]*)>[^<]|\s(?:style|on\w+)=`)
	unsafely  = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style`)
	foreign   = regexp.MustCompile(`https?://[^\s'"]+`)
)

// asset returns one of the page's files.
func asset(t *testing.T, name string) string {
	t.Helper()
	text, err := assets.ReadFile("assets/" + name)
	require.NoError(t, err)
	return string(text)
}

// TestAssetsNeedNothingElse: each module that is imported is there, each file is used, nothing comes from
// elsewhere, and no code stands where the page's policy forbids it.
func TestAssetsNeedNothingElse(t *testing.T) {
	names, err := fs.Glob(assets, "assets/*")
	require.NoError(t, err)
	used := map[string]bool{"index.html": true}
	index := asset(t, "index.html")
	assert.NotRegexp(t, inline, index)
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(index, -1) {
		used[m[1]] = true
	}
	for _, name := range names {
		text := asset(t, path.Base(name))
		if strings.HasSuffix(name, ".js") {
			assert.NotRegexp(t, unsafely, text, "%s makes code or a document of text", name)
			for _, m := range imported.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
		for _, address := range foreign.FindAllString(text, -1) {
			assert.Equal(t, "http://www.w3.org/2000/svg", address, "%s names another site", name)
		}
	}
	for name := range used {
		assert.NotEmpty(t, asset(t, name), name)
	}
	assert.Len(t, names, len(used), "files that nothing uses")
}

// TestTagsAreTheScenes: the page has the scene's tags, with their names and colours.
func TestTagsAreTheScenes(t *testing.T) {
	found := tagOfPage.FindAllStringSubmatch(asset(t, "colors.js"), -1)
	require.Len(t, found, int(scene.TagCount))
	for i, m := range found {
		c := scene.Tag(i).Color()
		assert.Equal(t, scene.Tag(i).String(), m[1])
		for k, want := range []uint8{c.R, c.G, c.B} {
			assert.Equal(t, strconv.Itoa(int(want)), m[2+k], "%s, channel %d", m[1], k)
		}
	}
}
