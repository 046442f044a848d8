package tools_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// manifests are what files of deploy/kubernetes define, by name.
type manifests struct {
	jobs     map[string]*batch.Job
	sets     map[string]*apps.StatefulSet
	services map[string]*core.Service
	configs  map[string]*core.ConfigMap
	claims   map[string]*core.PersistentVolumeClaim
	budgets  map[string]*policy.PodDisruptionBudget
	policies map[string]*networking.NetworkPolicy
	// made are secrets and config maps with their keys, which the commands at the head of the files make.
	made map[string][]string
}

// natsManifests reads all that a sweep on NATS needs.
func natsManifests(t *testing.T) *manifests {
	t.Helper()
	m := &manifests{
		jobs: map[string]*batch.Job{}, sets: map[string]*apps.StatefulSet{}, services: map[string]*core.Service{}, configs: map[string]*core.ConfigMap{},
		claims: map[string]*core.PersistentVolumeClaim{}, budgets: map[string]*policy.PodDisruptionBudget{}, policies: map[string]*networking.NetworkPolicy{},
		made: map[string][]string{},
	}
	for _, name := range []string{"nats.yaml", "claim.yaml", "sweep-nats.yaml"} {
		text, err := os.ReadFile("../deploy/kubernetes/" + name)
		require.NoError(t, err)
		m.readCommands(string(text))
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			m.read(t, document)
		}
	}
	return m
}

func (m *manifests) read(t *testing.T, document []byte) {
	t.Helper()
	var kind meta.TypeMeta
	require.NoError(t, yaml.Unmarshal(document, &kind))
	switch kind.APIVersion + " " + kind.Kind {
	case "batch/v1 Job":
		read(t, document, m.jobs)
	case "apps/v1 StatefulSet":
		read(t, document, m.sets)
	case "v1 Service":
		read(t, document, m.services)
	case "v1 ConfigMap":
		read(t, document, m.configs)
	case "v1 PersistentVolumeClaim":
		read(t, document, m.claims)
	case "policy/v1 PodDisruptionBudget":
		read(t, document, m.budgets)
	case "networking.k8s.io/v1 NetworkPolicy":
		read(t, document, m.policies)
	default:
		t.Fatalf("no type for %s %s", kind.APIVersion, kind.Kind)
	}
}

// read decodes a document strictly, and keeps it by its name.
func read[T any, P interface {
	*T
	meta.Object
}](t *testing.T, document []byte, to map[string]P,
) {
	t.Helper()
	v := P(new(T))
	require.NoError(t, yaml.UnmarshalStrict(document, v))
	require.NotContains(t, to, v.GetName(), "defined twice")
	to[v.GetName()] = v
}

var (
	creates  = regexp.MustCompile(`(?m)^# +kubectl create (?:secret generic|configmap) (\S+)(.*)$`)
	fromFile = regexp.MustCompile(`--from-file=(\S+)`)
	fromText = regexp.MustCompile(`--from-literal=(\w+)=`)
)

// readCommands finds what the commands of a file's head make. Variables of users.env are those that nats-secrets.sh writes.
func (m *manifests) readCommands(text string) {
	for _, command := range creates.FindAllStringSubmatch(text, -1) {
		keys := []string{}
		for _, file := range fromFile.FindAllStringSubmatch(command[2], -1) {
			keys = append(keys, filepath.Base(file[1]))
		}
		for _, text := range fromText.FindAllStringSubmatch(command[2], -1) {
			keys = append(keys, text[1])
		}
		if strings.Contains(command[2], "--from-env-file=secrets/users.env") {
			keys = append(keys, "NATS_COORDINATOR", "NATS_WORKER")
		}
		m.made[command[1]] = keys
	}
}

// pods are the templates of all pods, by the name of what makes them.
func (m *manifests) pods() map[string]core.PodTemplateSpec {
	pods := map[string]core.PodTemplateSpec{}
	for name, job := range m.jobs {
		pods[name] = job.Spec.Template
	}
	for name, set := range m.sets {
		pods[name] = set.Spec.Template
	}
	return pods
}

// TestPodsHaveWhatTheyName: each volume, secret, key, claim, config map and service that a pod names is there.
func TestPodsHaveWhatTheyName(t *testing.T) {
	t.Parallel()
	m := natsManifests(t)
	require.Len(t, m.pods(), 3)
	for name, pod := range m.pods() {
		require.Len(t, pod.Spec.Containers, 1, name)
		container := pod.Spec.Containers[0]
		mounted := map[string]bool{}
		for _, mount := range container.VolumeMounts {
			mounted[mount.Name] = true
			keys, found := m.keys(name, &pod.Spec, mount.Name)
			if !assert.True(t, found, "%s: volume %s isn't there, or its source", name, mount.Name) || keys == nil {
				continue
			}
			if mount.SubPath != "" {
				assert.Contains(t, keys, mount.SubPath, name)
				continue
			}
			used := regexp.MustCompile(regexp.QuoteMeta(mount.MountPath)+`/([\w.-]+)`).FindAllStringSubmatch(m.words(&container), -1)
			assert.NotEmpty(t, used, "%s: nothing of %s is used", name, mount.MountPath)
			for _, use := range used {
				assert.Contains(t, keys, use[1], "%s: %s", name, mount.MountPath)
			}
		}
		for _, v := range pod.Spec.Volumes {
			assert.True(t, mounted[v.Name], "%s: volume %s is mounted nowhere", name, v.Name)
		}
		for _, from := range container.EnvFrom {
			assert.Contains(t, m.made, from.SecretRef.Name, name)
		}
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
				assert.Contains(t, m.made[from.SecretKeyRef.Name], from.SecretKeyRef.Key, name)
			}
		}
		for _, c := range append(pod.Spec.InitContainers, container) {
			for _, address := range regexp.MustCompile(`(?:tls://|nc -z -w 2 )([\w-]+)[: ](\d+)`).FindAllStringSubmatch(m.words(&c), -1) {
				service := m.services[address[1]]
				if assert.NotNil(t, service, "%s: service %s", name, address[1]) {
					assert.Equal(t, address[2], fmt.Sprint(service.Spec.Ports[0].Port), name)
				}
			}
		}
	}
}

// words are a container's command and arguments, and those of the configuration that it reads.
func (m *manifests) words(c *core.Container) string {
	words := strings.Join(slices.Concat(c.Command, c.Args), " ")
	if strings.Contains(words, "nats.conf") {
		words += " " + m.configs["nats"].Data["nats.conf"]
	}
	return words
}

// keys are the files of a volume, nil for one that has any.
func (m *manifests) keys(owner string, pod *core.PodSpec, volume string) (keys []string, found bool) {
	if set := m.sets[owner]; set != nil {
		for _, claim := range set.Spec.VolumeClaimTemplates {
			if claim.Name == volume {
				return nil, true
			}
		}
	}
	at := slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == volume })
	if at < 0 {
		return nil, false
	}
	switch v := pod.Volumes[at]; {
	case v.Secret != nil:
		keys, found = m.made[v.Secret.SecretName]
		for i, item := range v.Secret.Items {
			found = found && slices.Contains(keys, item.Key)
			keys = append(keys[:i:i], item.Path)
		}
	case v.ConfigMap != nil && m.configs[v.ConfigMap.Name] != nil:
		for key := range m.configs[v.ConfigMap.Name].Data {
			keys, found = append(keys, key), true
		}
	case v.ConfigMap != nil:
		keys, found = m.made[v.ConfigMap.Name]
	case v.PersistentVolumeClaim != nil:
		_, found = m.claims[v.PersistentVolumeClaim.ClaimName]
	default:
		found = v.EmptyDir != nil
	}
	return keys, found
}

// TestServicesLeadToPods: a service's labels are those of one pod's template, which has its ports.
func TestServicesLeadToPods(t *testing.T) {
	t.Parallel()
	m := natsManifests(t)
	for name, service := range m.services {
		found := 0
		for _, pod := range m.pods() {
			if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				continue
			}
			found++
			for _, port := range service.Spec.Ports {
				assert.True(t, slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p core.ContainerPort) bool { return p.ContainerPort == port.Port }), "%s: %d", name, port.Port)
			}
		}
		assert.Equal(t, 1, found, name)
	}
}

// TestPodsAreConfined: none is root, and none may write to its own program.
func TestPodsAreConfined(t *testing.T) {
	t.Parallel()
	for name, pod := range natsManifests(t).pods() {
		s := pod.Spec.SecurityContext
		require.NotNil(t, s, name)
		assert.True(t, *s.RunAsNonRoot, name)
		assert.NotZero(t, *s.RunAsUser, name)
		assert.Equal(t, *s.RunAsUser, *s.FSGroup, "%s: it reads secrets and writes to volumes as a member of the group", name)
		assert.False(t, *pod.Spec.AutomountServiceAccountToken, name)
		for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
			assert.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
			assert.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
			assert.NotZero(t, c.Resources.Limits.Memory().Value(), name)
			assert.Regexp(t, `:\d+\.\d+\.\d+(-alpine)?$`, c.Image, "%s: a version that stays what it is", name)
		}
	}
}

// TestJobsOnNATS: a try that would end as the last one isn't repeated, and any other is.
func TestJobsOnNATS(t *testing.T) {
	t.Parallel()
	m := natsManifests(t)
	coordinator, workers := m.jobs["sweep-coordinator"], m.jobs["sweep-workers"]
	require.NotNil(t, coordinator)
	require.NotNil(t, workers)
	for job, wrong := range map[*batch.Job]batch.PodFailurePolicyAction{coordinator: batch.PodFailurePolicyActionFailJob, workers: batch.PodFailurePolicyActionFailIndex} {
		pod := job.Spec.Template.Spec
		assert.Equal(t, core.RestartPolicyNever, pod.RestartPolicy, "podFailurePolicy asks for it")
		assert.GreaterOrEqual(t, *pod.TerminationGracePeriodSeconds, int64(30))
		rules := job.Spec.PodFailurePolicy.Rules
		require.Len(t, rules, 2)
		assert.Equal(t, wrong, rules[0].Action)
		assert.Equal(t, []int32{2}, rules[0].OnExitCodes.Values, "wrong use")
		assert.Equal(t, pod.Containers[0].Name, *rules[0].OnExitCodes.ContainerName)
		assert.Equal(t, batch.PodFailurePolicyActionIgnore, rules[1].Action)
		assert.Equal(t, core.DisruptionTarget, rules[1].OnPodConditions[0].Type)
	}
	assert.NotNil(t, coordinator.Spec.BackoffLimit)
	assert.Equal(t, batch.Failed, *coordinator.Spec.PodReplacementPolicy, "--take-over is right only when the last pod has ended")
	assert.Contains(t, coordinator.Spec.Template.Spec.Containers[0].Args, "--take-over", "else the lock of a killed pod ends each later one with 2")

	assert.Nil(t, workers.Spec.BackoffLimit, "it would end all workers for the sake of one")
	assert.NotNil(t, workers.Spec.BackoffLimitPerIndex)
	assert.Equal(t, batch.IndexedCompletion, *workers.Spec.CompletionMode)
	assert.Equal(t, *workers.Spec.Completions, *workers.Spec.Parallelism, "each index is a worker; only equal ones can be changed later")
	assert.Equal(t, coordinator.Spec.Template.Spec.Containers[0].Image, workers.Spec.Template.Spec.Containers[0].Image, "another version's workers are refused")
	assert.Equal(t, []core.PersistentVolumeAccessMode{core.ReadWriteMany}, m.claims["sweep"].Spec.AccessModes)
}

// TestNATSStatefulSet: the servers find each other before they have a leader, don't share a node, and lose one at a time.
func TestNATSStatefulSet(t *testing.T) {
	t.Parallel()
	m := natsManifests(t)
	set := m.sets["nats"]
	require.NotNil(t, set)
	assert.Equal(t, apps.ParallelPodManagement, set.Spec.PodManagementPolicy)
	nodes := m.services[set.Spec.ServiceName]
	require.NotNil(t, nodes)
	assert.Equal(t, core.ClusterIPNone, nodes.Spec.ClusterIP)
	assert.True(t, nodes.Spec.PublishNotReadyAddresses)
	assert.False(t, m.services["nats"].Spec.PublishNotReadyAddresses, "clients are sent to servers that are ready")

	own := set.Spec.Template.Labels
	assert.Equal(t, own, set.Spec.Selector.MatchLabels)
	assert.Equal(t, own, nodes.Spec.Selector)
	apart := set.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	require.Len(t, apart, 1)
	assert.Equal(t, core.LabelHostname, apart[0].TopologyKey)
	assert.Equal(t, own, apart[0].LabelSelector.MatchLabels)
	assert.Equal(t, own, m.budgets["nats"].Spec.Selector.MatchLabels)
	assert.Equal(t, 1, m.budgets["nats"].Spec.MaxUnavailable.IntValue())

	c := set.Spec.Template.Spec.Containers[0]
	assert.Equal(t, "/healthz", c.StartupProbe.HTTPGet.Path)
	assert.Equal(t, "/healthz?js-server-only=true", c.ReadinessProbe.HTTPGet.Path)
	assert.Equal(t, "/healthz?js-enabled-only=true", c.LivenessProbe.HTTPGet.Path)

	in := m.policies["nats"].Spec
	assert.Equal(t, own, in.PodSelector.MatchLabels)
	clients := in.Ingress[0].From[0].PodSelector.MatchLabels
	for name, job := range m.jobs {
		for key, value := range clients {
			assert.Equal(t, value, job.Spec.Template.Labels[key], "%s isn't let in", name)
		}
	}
	assert.Equal(t, own, in.Ingress[1].From[0].PodSelector.MatchLabels)
}
