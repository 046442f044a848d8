package sumo

import (
	"bufio"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
)

// longestHead is how much of a file is looked at. A net says first where it is.
const longestHead = 1 << 20

// location returns what SUMO's tools added to the coordinates of a map to make those of the net that
// a configuration names. Proj is the projection of the map's coordinates, as PROJ text, "" where
// the net doesn't say it.
func location(config string) (offset mgl64.Vec3, proj string, err error) {
	file, err := attribute(config, []string{"net-file", "net", "n"}, []string{"value", "v"})
	if err != nil {
		return mgl64.Vec3{}, "", err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(config), file)
	}
	text, err := attribute(file, []string{"location"}, []string{"netOffset"})
	if err != nil {
		return mgl64.Vec3{}, "", err
	}
	if offset, err = parseOffset(text); err != nil {
		return mgl64.Vec3{}, "", fmt.Errorf("%s: netOffset: %w", file, err)
	}
	if proj, _ = attribute(file, []string{"location"}, []string{"projParameter"}); !strings.HasPrefix(proj, "+") {
		proj = "" // "!" says that there is none, "-" and "." are SUMO's own
	}
	return offset, proj, nil
}

// parseOffset reads "x,y", in metres.
func parseOffset(text string) (mgl64.Vec3, error) {
	x, y, ok := strings.Cut(text, ",")
	var offset mgl64.Vec3
	for i, part := range []string{x, y} {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !ok || v-v != 0 {
			return mgl64.Vec3{}, fmt.Errorf("%q: want two numbers as in 100.5,-20", text)
		}
		offset[i] = v
	}
	return offset, nil
}

// attribute returns an attribute of the first of some elements of an XML file, which may be
// compressed by gzip.
func attribute(file string, elements, names []string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	plain := bufio.NewReader(f)
	text := io.Reader(plain)
	if magic, _ := plain.Peek(2); string(magic) == "\x1f\x8b" {
		if text, err = gzip.NewReader(plain); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	}
	decoder := xml.NewDecoder(io.LimitReader(text, longestHead))
	// The names and numbers that count are ASCII in any encoding that SUMO writes.
	decoder.CharsetReader = func(_ string, text io.Reader) (io.Reader, error) { return text, nil }
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s: found no %s", file, strings.Join(elements, " or "))
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		element, ok := token.(xml.StartElement)
		if !ok || !slices.Contains(elements, element.Name.Local) {
			continue
		}
		for _, a := range element.Attr {
			if slices.Contains(names, a.Name.Local) {
				return a.Value, nil
			}
		}
	}
}
