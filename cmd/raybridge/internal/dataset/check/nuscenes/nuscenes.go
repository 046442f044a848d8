// Package nuscenes reads and checks data sets of nuScenes' format, version 1.0, by its description and by what the devkit asserts and what
// it doesn't notice.
package nuscenes

import (
	"context"
	"io/fs"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// tables are the 13 that a version's folder must have.
var tables = []string{
	"category", "attribute", "visibility", "sensor", "calibrated_sensor", "ego_pose", "log", "map", "scene", "sample", "sample_data", "instance",
	"sample_annotation",
}

const ruleTable = "structure.table"

// Format is nuScenes. A set's name is that of its version's folder.
var Format = check.Format{Name: "nuscenes", Rules: []check.Rule{
	{ID: ruleTable, Severity: check.Error, Holds: "the version's folder has the 13 tables"},
}, Detect: detect, Open: open}

// detect returns the folders that have tables; three of them tell a damaged set from another folder with JSON.
func detect(root fs.FS) (versions []string) {
	entries, _ := fs.ReadDir(root, ".")
	for _, e := range entries {
		n := 0
		for _, table := range tables {
			if _, err := fs.Stat(root, e.Name()+"/"+table+".json"); err == nil {
				n++
			}
		}
		if n >= 3 {
			versions = append(versions, e.Name())
		}
	}
	slices.Sort(versions)
	return versions
}

func open(_ context.Context, root fs.FS, version string, f *check.Findings) (check.Set, error) {
	for _, table := range tables {
		file := version + "/" + table + ".json"
		if _, err := fs.Stat(root, file); err != nil {
			f.Add(ruleTable, check.Place{File: file}, "the table is missing")
		}
	}
	return nil, nil
}
