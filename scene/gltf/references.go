package gltf

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
)

// References lists the files that a .gltf or .glb file names: its buffers and pictures, relative to its folder, with
// slashes. They needn't exist. Errors are those of Load.
func References(name string) ([]string, error) {
	data, err := fault.ReadUpTo(name, maxFileBytes)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	text, _, err := split(data)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	var doc struct{ Buffers, Images []struct{ URI string } }
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, &Error{File: name, Err: invalid("%w", err)}
	}
	var names []string
	for i, file := range append(doc.Buffers, doc.Images...) {
		if file.URI == "" || strings.HasPrefix(file.URI, "data:") {
			continue
		}
		local, err := localName(file.URI)
		if err != nil {
			kind := "buffers"
			if i >= len(doc.Buffers) {
				kind, i = "images", i-len(doc.Buffers)
			}
			return nil, &Error{File: name, Err: fmt.Errorf("%s[%d]: %w", kind, i, err)}
		}
		names = append(names, local)
	}
	return names, nil
}
