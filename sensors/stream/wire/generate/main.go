// Command generate writes what follows from the layouts in package schema: the
// generated sources of package wire, into the working directory, and the tables of
// the document that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/raybridge/raybridge/sensors/stream/wire/schema"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(document string) error {
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
