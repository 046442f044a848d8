package main

import (
	"errors"
	"os"

	"github.com/raybridge/raybridge/sensors/stream/wire/schema"
)

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
