package main

import (
	"errors"
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestArgumentsOfDeploy: each command that a file of deploy/ gives a container is one of the program, with its flags.
func TestArgumentsOfDeploy(t *testing.T) {
	t.Parallel()
	const jobs = "../../deploy/kubernetes/sweep-nats.yaml"
	for file, names := range map[string][]string{
		"../../deploy/kubernetes/sweep.yaml": {"run"}, jobs: {"run", "worker"}, "../../deploy/compose/sweep.yaml": {"run", "worker", "health"},
	} {
		var found []string
		for _, args := range commandsIn(t, file) {
			cmd, rest, err := newRoot(io.Discard, io.Discard).Find(args)
			require.NoError(t, err, file)
			require.NoError(t, cmd.ParseFlags(rest), file)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), file)
			found = append(found, cmd.Name())
		}
		assert.ElementsMatch(t, names, found, file)
	}
	text, err := os.ReadFile(jobs)
	require.NoError(t, err)
	variables := regexp.MustCompile(`RAYBRIDGE_\w+`).FindAllString(string(text), -1)
	assert.Equal(t, []string{credentialsVariable, tokenVariable, credentialsVariable}, variables)
}

// TestCommandsOfDeployAreInTheDocs: who follows docs/sweep.md makes all secrets that the manifests' heads ask for.
func TestCommandsOfDeployAreInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/sweep.md")
	require.NoError(t, err)
	creates := regexp.MustCompile(`(?m)^# +(kubectl create .*)$`)
	for file, number := range map[string]int{"nats.yaml": 2, "sweep-nats.yaml": 3} {
		text, err := os.ReadFile("../../deploy/kubernetes/" + file)
		require.NoError(t, err)
		found := creates.FindAllStringSubmatch(string(text), -1)
		assert.Len(t, found, number, file)
		for _, command := range found {
			assert.Contains(t, string(page), command[1], file)
		}
	}
}

// commandsIn lists the sequences of a YAML file that are commands of the program, by their first word.
func commandsIn(t *testing.T, file string) (commands [][]string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.SequenceNode && len(n.Content) > 1 {
			var words []string
			if n.Decode(&words) == nil {
				switch {
				case words[0] == "sweep":
					commands = append(commands, words)
				case words[0] == "CMD" && words[1] == "raybridge":
					commands = append(commands, words[2:])
				}
			}
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	decoder := yaml.NewDecoder(f)
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return commands
		}
		require.NoError(t, err)
		walk(&document)
	}
}
