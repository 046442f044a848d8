package shaders_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/shaders"
)

var outputLine = regexp.MustCompile(`(?m)^\s*(?:layout\s*\([^)]*\)\s*)?(?:flat\s+)?out\s+(\w+)\s+(\w+)\s*;`)

// TestGraphicsStagesWriteIdsAndDepthAlone keeps pictures the work of compute
// shaders: a rasteriser only finds out what is seen.
func TestGraphicsStagesWriteIdsAndDepthAlone(t *testing.T) {
	graphics := 0
	for _, e := range shaders.All() {
		if e.Fragment == "" {
			continue
		}
		graphics++
		p, err := shaders.Source(e)
		require.NoError(t, err)
		for _, out := range outputLine.FindAllStringSubmatch(p.Fragment, -1) {
			assert.Contains(t, []string{"uint", "uvec2"}, out[1], "%s writes %s, which is no id", e.Name, out[2])
		}
		assert.NotContains(t, p.Fragment, "gl_FragDepth", e.Name)
		assert.NotRegexp(t, `\bimageStore\b|\bbuffer\s+\w+\s*\{`, p.Fragment, e.Name)
		for _, b := range e.Bindings {
			assert.NotContains(t, []shaders.Kind{shaders.KindStorage, shaders.KindImage}, b.Kind, "%s binds %s", e.Name, b.Name)
		}
	}
	assert.GreaterOrEqual(t, graphics, 2)
}
