// Command gen writes the generated files of this module. A line for go generate, or
// the Makefile, runs it:
//
//	//go:generate go run github.com/raybridge/raybridge/internal/gen messages
//
// Its first argument names the generator. Paths are relative to the working folder, which
// is that of the file that has the line.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

// generators have the arguments that follow their names.
var generators = map[string]func(args []string) error{
	"messages": messages,
	"clouds":   clouds,
	"lenses":   lenses,
	"montage":  montage,
	"notice":   notice,
	"panorama": panorama,
	"protobuf": protobuf,
	"shutter":  shutter,
	"weather":  weathers,
}

func main() {
	if len(os.Args) < 2 || generators[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: gen GENERATOR [ARGUMENT...], with one of", slices.Sorted(maps.Keys(generators)))
		os.Exit(2)
	}
	if err := generators[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "gen %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
