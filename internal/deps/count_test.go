package deps_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// size is what one kind of file adds up to.
type size struct{ files, code, comments int }

func (s *size) add(code, comments int) {
	s.files++
	s.code += code
	s.comments += comments
}

var (
	languages = map[string]string{".go": "Go", ".glsl": "GLSL", ".comp": "GLSL", ".vert": "GLSL", ".frag": "GLSL",
		".c": "C", ".h": "C", ".tmpl": "templates", ".html": "templates", ".css": "templates", ".js": "templates"}
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// TestCount prints how large the product is: go test -v -run TestCount ./internal/deps.
// A code line has more than blanks and comments. Generators count as product. Generated
// files and tests are counted beside it.
func TestCount(t *testing.T) {
	product, made, tests := map[string]*size{}, &size{}, &size{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && outside(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || languages[path.Ext(file)] == "":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		language := languages[path.Ext(file)]
		code, comments := lines(language, text)
		switch {
		case strings.HasSuffix(file, "_test.go"):
			tests.add(code, comments)
		case generated.Match(text):
			made.add(code, comments)
		default:
			if product[language] == nil {
				product[language] = &size{}
			}
			product[language].add(code, comments)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := size{}
	t.Logf("%-20s %6s %8s %9s", "", "files", "code", "comments")
	for _, language := range slices.Sorted(maps.Keys(product)) {
		s := product[language]
		t.Logf("%-20s %6d %8d %9d", "product, "+language, s.files, s.code, s.comments)
		all.files += s.files
		all.code += s.code
		all.comments += s.comments
	}
	t.Logf("%-20s %6d %8d %9d", "product", all.files, all.code, all.comments)
	t.Logf("%-20s %6d %8d %9d", "generated", made.files, made.code, made.comments)
	t.Logf("%-20s %6d %8d %9d", "tests", tests.files, tests.code, tests.comments)
}

// lines counts the lines of text that have code, and those that have comments alone.
func lines(language string, text []byte) (code, comments int) {
	coded, commented := map[int]bool{}, map[int]bool{}
	mark := func(on map[int]bool, first int, of string) {
		for i, line := range strings.Split(of, "\n") {
			if strings.TrimSpace(line) != "" {
				on[first+i] = true
			}
		}
	}
	if language == "Go" {
		files := token.NewFileSet()
		file := files.AddFile("", -1, len(text))
		var s scanner.Scanner
		s.Init(file, text, nil, scanner.ScanComments)
		for pos, tok, of := s.Scan(); tok != token.EOF; pos, tok, of = s.Scan() {
			switch at := file.Line(pos); {
			case tok == token.COMMENT:
				mark(commented, at, of)
			case tok == token.SEMICOLON && of == "\n": // put in by the scanner
			case of == "":
				coded[at] = true
			default:
				mark(coded, at, of)
			}
		}
	} else {
		inside := false
		for i, line := range bytes.Split(text, []byte("\n")) {
			switch line = bytes.TrimSpace(line); {
			case len(line) == 0:
			case inside || bytes.HasPrefix(line, []byte("/*")) || bytes.HasPrefix(line, []byte("<!--")):
				commented[i] = true
				inside = !bytes.Contains(line, []byte("*/")) && !bytes.Contains(line, []byte("-->"))
			case bytes.HasPrefix(line, []byte("//")):
				commented[i] = true
			default:
				coded[i] = true
			}
		}
	}
	for line := range commented {
		if !coded[line] {
			comments++
		}
	}
	return len(coded), comments
}
