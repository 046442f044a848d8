package sumo

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Version says which SUMO a world of a configuration starts: its version, and how it was built, in a line.
func Version(ctx context.Context) (string, error) {
	program, err := find()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Stdout, cmd.WaitDelay = &said, patience
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	return parseVersion(said.String())
}

// parseVersion reads what sumo --version says.
func parseVersion(said string) (string, error) {
	version, rest, _ := strings.Cut(said, "\n")
	_, version, ok := strings.Cut(version, "Version ")
	if version = strings.TrimSpace(version); !ok || version == "" {
		return "", fmt.Errorf("SUMO says %.80q of its version", said)
	}
	build, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	if features, ok := strings.CutPrefix(build, "Build features: "); ok {
		version += ", " + strings.TrimSpace(features)
	}
	const longest = 300
	return "SUMO " + version[:min(len(version), longest)], nil
}
