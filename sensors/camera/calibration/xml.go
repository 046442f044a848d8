package calibration

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
)

// maxDepth is how deep elements may lie in one another.
const maxDepth = 100

// readXML reads OpenCV's FileStorage in XML, whose root is opencv_storage.
func readXML(file string, text []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // names and numbers are ASCII
	for {
		token, err := d.Token()
		if err != nil {
			return nil, xmlError(file, d, err)
		}
		if start, ok := token.(xml.StartElement); ok {
			if start.Name.Local != "opencv_storage" {
				return nil, placeIn(file, d)("%w: its root is %s, OpenCV's is opencv_storage", ErrCalibration, start.Name.Local)
			}
			return readElement(file, d, 0)
		}
	}
}

func placeIn(file string, d *xml.Decoder) func(format string, args ...any) error {
	line, column := d.InputPos()
	return func(format string, args ...any) error {
		return &doc.Error{File: file, Line: line, Column: column, Err: fmt.Errorf(format, args...)}
	}
}

func xmlError(file string, d *xml.Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the text ends within an element")
	}
	return placeIn(file, d)("%w: %w", ErrCalibration, err)
}

// readElement reads up to the end of an element: its children by their names, or its text.
func readElement(file string, d *xml.Decoder, depth int) (*node, error) {
	n := &node{place: placeIn(file, d)}
	if depth > maxDepth {
		return nil, n.errorf("more than %d elements in one another", maxDepth)
	}
	var text strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return nil, xmlError(file, d, err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			child, err := readElement(file, d, depth+1)
			if err != nil {
				return nil, err
			}
			if token.Name.Local == "_" { // of a list
				n.items = append(n.items, child)
				continue
			}
			if n.fields == nil {
				n.fields = map[string]*node{}
			}
			n.fields[token.Name.Local] = child
		case xml.EndElement:
			if n.fields == nil && n.items == nil {
				n.value = strings.Trim(strings.TrimSpace(text.String()), `"`)
			}
			return n, nil
		}
	}
}
