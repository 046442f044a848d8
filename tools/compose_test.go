package tools_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compose reads the compose file as docker compose does: what the specification doesn't know is refused.
func compose(t *testing.T, content []byte, env types.Mapping) (*types.Project, error) {
	t.Helper()
	dir, err := filepath.Abs("../deploy/compose")
	require.NoError(t, err)
	file := types.ConfigFile{Filename: filepath.Join(dir, "sweep.yaml"), Content: content}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: dir, ConfigFiles: []types.ConfigFile{file}, Environment: env})
}

// TestCompose: the compose file names nothing that isn't there, and says what its comments promise.
func TestCompose(t *testing.T) {
	dir := secrets(t)
	env := types.Mapping{"SWEEP_DIR": filepath.Dir(dir), "SWEEP_USER": "1000:1000"}
	p, err := compose(t, nil, env)
	require.NoError(t, err)
	require.NoError(t, p.CheckContainerNameUnicity())
	assert.Equal(t, []string{"coordinator", "nats", "worker"}, p.ServiceNames())

	for name, s := range p.Services {
		assert.Equal(t, "1000:1000", s.User, name)
		assert.True(t, s.ReadOnly, name)
		assert.Equal(t, []string{"ALL"}, s.CapDrop, name)
		assert.Regexp(t, `:\d+\.\d+\.\d+(-alpine)?$`, s.Image, "%s: a version that stays what it is", name)
		words := strings.Join(s.Command, " ")
		for _, secret := range s.Secrets {
			assert.FileExists(t, p.Secrets[secret.Source].File, name)
			if name != "nats" {
				assert.Contains(t, words, "/run/secrets/"+secret.Source, name)
			}
		}
		for _, file := range regexp.MustCompile(`/run/secrets/(\S+)`).FindAllStringSubmatch(words, -1) {
			assert.True(t, slices.ContainsFunc(s.Secrets, func(c types.ServiceSecretConfig) bool { return c.Source == file[1] }), "%s: %s", name, file[0])
		}
		for _, v := range s.Volumes {
			assert.False(t, bool(v.Bind.CreateHostPath), "%s: a folder that Docker makes is root's", name)
		}
		if name != "nats" {
			assert.GreaterOrEqual(t, time.Duration(*s.StopGracePeriod), 30*time.Second, name)
			assert.Contains(t, words, "tls://nats:4222", name)
		}
	}
	assert.Equal(t, types.ServiceConditionHealthy, p.Services["coordinator"].DependsOn["nats"].Condition)
	assert.Equal(t, types.ServiceConditionHealthy, p.Services["worker"].DependsOn["coordinator"].Condition, "before, the folder has no plan")
	assert.True(t, p.Services["worker"].HealthCheck.Disable, "the image's own asks a run's API")
	assert.Equal(t, p.Services["coordinator"].Image, p.Services["worker"].Image)
	assert.Empty(t, p.Services["worker"].ContainerName, "--scale makes several")
	users := p.Services["nats"].Environment
	assert.NotNil(t, users["NATS_COORDINATOR"])
	assert.NotNil(t, users["NATS_WORKER"])
	assert.FileExists(t, p.Configs["nats.conf"].File)
	m := natsManifests(t)
	assert.Equal(t, m.sets["nats"].Spec.Template.Spec.Containers[0].Image, p.Services["nats"].Image)
	assert.Equal(t, m.jobs["sweep-workers"].Spec.Template.Spec.Containers[0].Image, p.Services["worker"].Image)

	_, err = compose(t, nil, types.Mapping{"SWEEP_DIR": dir})
	assert.ErrorContains(t, err, "give your user and group")
	_, err = compose(t, []byte("services: {a: {image: b, replica: 3}}"), env)
	assert.ErrorContains(t, err, "replica")
}
