package main

import (
	_ "embed" // the demo rig

	"github.com/raybridge/raybridge/rig"
)

//go:embed demo.yaml
var demoYAML []byte

// demoRig is the rig of a run that names none.
func demoRig() (*rig.Rig, error) { return rig.Parse("demo.yaml", demoYAML) }
