// Package tools_test decodes what deploy/ has for others' programs by their own types.
package tools_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetesJob: the manifest has no field that Kubernetes doesn't know, and says what its comments promise.
func TestKubernetesJob(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/kubernetes/sweep.yaml")
	require.NoError(t, err)
	var job batch.Job
	require.NoError(t, yaml.UnmarshalStrict(text, &job))
	assert.Equal(t, "batch/v1 Job", job.APIVersion+" "+job.Kind)

	spec := job.Spec
	require.NotNil(t, spec.CompletionMode)
	assert.Equal(t, batch.IndexedCompletion, *spec.CompletionMode)
	require.NotNil(t, spec.BackoffLimitPerIndex)
	assert.Nil(t, spec.BackoffLimit, "it would end the job for the sake of one index")
	assert.Equal(t, core.RestartPolicyNever, spec.Template.Spec.RestartPolicy, "FailIndex and backoffLimitPerIndex ask for it")

	require.Len(t, spec.Template.Spec.Containers, 1)
	container := spec.Template.Spec.Containers[0]
	require.NotNil(t, spec.Completions)
	at := slices.Index(container.Args, "--shards")
	require.NotEqual(t, -1, at, "Kubernetes doesn't tell a pod how many there are")
	assert.Equal(t, fmt.Sprint(*spec.Completions), container.Args[at+1])

	require.NotNil(t, spec.PodFailurePolicy)
	wrong := slices.IndexFunc(spec.PodFailurePolicy.Rules, func(r batch.PodFailurePolicyRule) bool { return r.Action == batch.PodFailurePolicyActionFailIndex })
	require.NotEqual(t, -1, wrong)
	codes := spec.PodFailurePolicy.Rules[wrong].OnExitCodes
	require.NotNil(t, codes)
	assert.Equal(t, batch.PodFailurePolicyOnExitCodesOpIn, codes.Operator)
	assert.Equal(t, []int32{2}, codes.Values, "wrong use")
	require.NotNil(t, codes.ContainerName)
	assert.Equal(t, container.Name, *codes.ContainerName)

	for _, m := range container.VolumeMounts {
		assert.True(t, slices.ContainsFunc(spec.Template.Spec.Volumes, func(v core.Volume) bool { return v.Name == m.Name }), m.Name)
	}
}

// TestUnknownFieldsAreRefused: the test above would notice.
func TestUnknownFieldsAreRefused(t *testing.T) {
	t.Parallel()
	text := []byte("apiVersion: batch/v1\nkind: Job\nspec: {completion: 3}\n")
	assert.ErrorContains(t, yaml.UnmarshalStrict(text, &batch.Job{}), `unknown field "completion"`)
}
