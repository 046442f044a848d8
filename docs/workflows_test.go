package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestWorkflows: the tag of an action may be moved to other code, and a job that runs the code of modules must not be able to
// sign or write.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct{ Uses, Run string }
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &workflow), file)
		assert.Equal(t, map[string]string{"contents": "read"}, workflow.Permissions, file)
		require.NotEmpty(t, workflow.Jobs, file)
		for name, job := range workflow.Jobs {
			builds := false
			for _, step := range job.Steps {
				if step.Uses != "" {
					assert.Regexp(t, `^[\w-]+/[\w-]+@[0-9a-f]{40}$`, step.Uses, "%s, job %s: name the commit", file, name)
				}
				builds = builds || regexp.MustCompile(`\bmake\b`).MatchString(step.Run)
			}
			if builds {
				assert.Empty(t, job.Permissions, "%s, job %s: it has those of the workflow", file, name)
			}
		}
	}
}
