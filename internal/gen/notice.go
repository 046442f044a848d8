package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A module is one that a program is linked with, as `go list` names it.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// notice writes the licences of the modules that a program is linked with. Its arguments
// are the program's package and the file: gen notice ./cmd/raybridge NOTICE.
func notice(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: gen notice PACKAGE FILE")
	}
	modules, err := linked(args[0])
	if err != nil {
		return err
	}
	text, err := noticeOf(modules)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], text, 0o644)
}

// linked returns the modules of all packages that program is linked with, whichever build
// tags it has, sorted by path. The program's own module is left out.
func linked(program string) ([]module, error) {
	found := map[string]module{}
	for _, tags := range []string{"", "ros2dds"} {
		list := exec.Command("go", "list", "-tags", tags, "-deps", "-json=Module", program)
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", program, err)
		}
		for packages := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct{ Module *module }
			if err := packages.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read what go list printed: %w", err)
			}
			if p.Module != nil && !p.Module.Main {
				found[p.Module.Path] = *p.Module
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b module) int { return strings.Compare(a.Path, b.Path) }), nil
}

// noticeOf returns the text of NOTICE: what raybridge is, what it is linked with, and each
// module's licence as its files have it. A text that several modules share stands once.
func noticeOf(modules []module) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("raybridge\n\nraybridge is under the Apache License 2.0: see LICENSE.\n\n" +
		"The program is linked with Go's standard library and runtime (BSD-3-Clause, The Go Authors,\n" +
		"https://go.dev/LICENSE) and with the modules below. bin/raybridge-ros2dds is also linked\n" +
		"with Eclipse Cyclone DDS (EPL-2.0 OR BSD-3-Clause). Packages carry Debian's build of it with\n" +
		"what it needs in lib/raybridge: iceoryx (Apache-2.0), OpenSSL (Apache-2.0) and libacl\n" +
		"(LGPL-2.1), unchanged. licences there has the licence and the version of each; Debian has\n" +
		"their sources. `make generate` writes this file.\n\n")
	texts, users := []string{}, map[string][]string{}
	for _, m := range modules {
		text, err := licences(m)
		if err != nil {
			return nil, err
		}
		name := m.Path + " " + m.Version
		fmt.Fprintf(&out, "  %s\n", name)
		if users[text] == nil {
			texts = append(texts, text)
		}
		users[text] = append(users[text], name)
	}
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}
	return out.Bytes(), nil
}

// legal matches the names of files whose text must go with a program: Apache's licence
// asks for NOTICE in section 4(d).
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(txt|md))?$`)

// licences returns the text of m's legal files. A module in a folder of a larger
// repository has them in its own folder, too: the module proxy puts a copy there.
func licences(m module) (string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return "", fmt.Errorf("read the licence of %s (go mod download fetches it): %w", m.Path, err)
	}
	var parts []string
	for _, entry := range entries {
		if entry.IsDir() || !legal.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, entry.Name()))
		if err != nil {
			return "", fmt.Errorf("read the licence of %s: %w", m.Path, err)
		}
		parts = append(parts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%s %s has no licence: a program may not be linked with it", m.Path, m.Version)
	}
	return strings.Join(parts, "\n\n"), nil
}
