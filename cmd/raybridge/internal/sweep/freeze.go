package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
)

// freeze returns the text of a base with other paths: moved gives the new one for each file, and for a world's
// KIND:FILE. All else stays as it is written.
func freeze(file string, text []byte, moved func(key, path string) (string, error)) ([]byte, error) {
	root, err := doc.ParseYAML(file, text)
	if err != nil {
		return nil, err
	}
	var paths []keyed
	collectPaths(root, "", &paths)
	type replacement struct {
		from, to int
		text     string
	}
	var all []replacement
	for _, p := range paths {
		var old string
		if err := p.node.Decode(&old); err != nil || old == "" {
			continue
		}
		from, to, err := extent(text, p.node, old)
		if err != nil {
			return nil, err
		}
		if p.key != worldKey && !filepath.IsAbs(old) {
			old = filepath.Join(filepath.Dir(file), old)
		}
		path, err := moved(p.key, old)
		if err != nil {
			return nil, p.node.Errorf("%w", err)
		}
		all = append(all, replacement{from, to, doc.Text(path)})
	}
	slices.SortFunc(all, func(a, b replacement) int { return b.from - a.from })
	for _, r := range all {
		text = slices.Concat(text[:r.from], []byte(r.text), text[r.to:])
	}
	return text, nil
}

// keyed is a value of a key that names a file.
type keyed struct {
	key  string
	node doc.Node
}

// worldKey is the key of a world, whose paths are relative to the working directory.
const worldKey = "world.source"

// pathKeys are the keys of a configuration that name files to read; [] stands for a list's items.
var pathKeys = []string{"rig", "scene.file", "scene.labels", "scene.place[].file", "actors[].file", "world.models[]", "sensors[].firing_table", "sensors[].materials", worldKey}

// collectPaths walks a configuration's mappings and lists.
func collectPaths(n doc.Node, key string, paths *[]keyed) {
	if slices.Contains(pathKeys, key) {
		*paths = append(*paths, keyed{key, n})
		return
	}
	below := func(k string) bool {
		return slices.ContainsFunc(pathKeys, func(p string) bool { return p == k || strings.HasPrefix(p, k+".") || strings.HasPrefix(p, k+"[") })
	}
	if entries, err := n.Entries(); err == nil {
		for _, e := range entries {
			if k := strings.TrimPrefix(key+"."+e.Key, "."); below(k) {
				collectPaths(e.Value, k, paths)
			}
		}
	}
	if items, err := n.Items(); err == nil && below(key+"[]") {
		for _, item := range items {
			collectPaths(item, key+"[]", paths)
		}
	}
}

// extent returns where a scalar's text lies.
func extent(text []byte, n doc.Node, value string) (from, to int, err error) {
	var place *doc.Error
	errors.As(n.Errorf("written in a way that can't be moved: write it in one line, with quotes or without"), &place)
	from = offset(text, place.Line, place.Column)
	rest := text[from:]
	switch {
	case bytes.HasPrefix(rest, []byte(value)):
		return from, from + len(value), nil
	case len(rest) > 0 && rest[0] == '*': // an alias
		end := bytes.IndexAny(rest, " ,]}\r\n")
		if end < 0 {
			end = len(rest)
		}
		return from, from + end, nil
	case len(rest) > 0 && (rest[0] == '"' || rest[0] == '\''):
		if end := closing(rest); end > 0 {
			return from, from + end, nil
		}
	}
	return 0, 0, fmt.Errorf("%w", place)
}

// closing returns the length of a text in quotes, 0 where they don't end in its line.
func closing(text []byte) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] == text[0] && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return 0
}

// offset returns where a line's column begins, both counted from 1, the column in characters.
func offset(text []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	for range string(text[at:]) {
		if column--; column == 0 {
			break
		}
		at += len(firstCharacter(text[at:]))
	}
	return at
}

func firstCharacter(text []byte) string {
	for i := range string(text) {
		if i > 0 {
			return string(text[:i])
		}
	}
	return string(text)
}
