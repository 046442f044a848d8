package rig

import (
	"fmt"
	"os"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

// Read reads a rig file, whichever kind it is.
func Read(path string) (*Rig, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read rig: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a rig from its text; file names it in errors.
func Parse(file string, data []byte) (*Rig, error) {
	n, err := yamldoc.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var r Rig
	if err := n.Decode(&r); err != nil {
		return nil, err
	}
	return &r, nil
}
