// Command gen writes the generated files of this module. A line for go generate, or
// the Makefile, runs it:
//
//	//go:generate go run github.com/raybridge/raybridge/internal/gen messages
//
// Its first argument names the generator. Paths are relative to the working folder, which
// is that of the file that has the line.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/raybridge/raybridge/sensors/stream/wire/schema"
)

// generators have the arguments that follow their names.
var generators = map[string]func(args []string) error{
	"messages": messages,
	"montage":  montage,
	"notice":   notice,
	"protobuf": protobuf,
	"stream":   stream,
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

// stream writes what follows from the layouts in package schema: the generated sources of
// package wire, into the working folder, and the tables of the document that is its
// argument.
func stream(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: gen stream DOCUMENT.md")
	}
	document := args[0]
	files, err := schema.Code()
	if err != nil {
		return err
	}
	for name, source := range files {
		if err := os.WriteFile(name, source, 0o644); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	page, err = schema.Insert(page)
	if err != nil {
		return err
	}
	return os.WriteFile(document, page, 0o644)
}
