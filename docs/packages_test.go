package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPackages: what `go install` needs is what scripts/setup.sh installs for a build, besides
// the compiler.
func TestPackages(t *testing.T) {
	page, err := os.ReadFile("start.md")
	require.NoError(t, err)
	script, err := os.ReadFile("../scripts/setup.sh")
	require.NoError(t, err)
	systems := map[string]string{"apt": "apt-get install ", "dnf": "dnf install ", "pacman": "pacman -S "}
	for system, command := range systems {
		var want []string
		for _, found := range regexp.MustCompile(`(?m)^(?:portable|window)_`+system+`="(.*)"$`).FindAllStringSubmatch(string(script), -1) {
			for _, name := range strings.Fields(found[1]) {
				if name != "gcc" && name != "libc6-dev" && name != "glibc-devel" {
					want = append(want, name)
				}
			}
		}
		stated := regexp.MustCompile("`" + command + "(pkg[^`]*)`").FindStringSubmatch(string(page))
		require.NotNil(t, stated, command)
		assert.ElementsMatch(t, want, strings.Fields(stated[1]), system)
	}
}
