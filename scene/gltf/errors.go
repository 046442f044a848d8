package gltf

import (
	"errors"
	"fmt"
	"strings"
)

// What is wrong with a file; an *Error wraps one of them, or an error of the
// file system (fs.ErrNotExist where a file is missing), or of a labels file.
var (
	// ErrFormat: the file breaks a rule of glTF 2.0, PNG or JPEG.
	ErrFormat = errors.New("invalid glTF")
	// ErrUnsupported: the file needs what the loader hasn't: a required
	// extension, glTF 1.0, a picture format, a remote file.
	ErrUnsupported = errors.New("unsupported glTF")
	// ErrPath: a URI leads out of the model's folder.
	ErrPath = errors.New("path outside the model's folder")
	// ErrTooLarge: the file, a picture or the unpacked model is too large.
	ErrTooLarge = errors.New("model too large")
	// ErrOptions: the options are wrong, not the file.
	ErrOptions = errors.New("invalid glTF options")
)

// Error is a fault of a model.
type Error struct {
	// File is the model's path, as given.
	File string
	// Where is the place in its JSON, such as
	// "meshes[2].primitives[0].attributes.POSITION"; empty for the whole file.
	Where string
	Err   error

	// rooted: Where starts at the document's root.
	rooted bool
}

// Error returns the file, the place and the fault.
func (e *Error) Error() string {
	var b strings.Builder
	for _, s := range []string{e.File, e.Where} {
		if s != "" {
			b.WriteString(s)
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Err }

// fault is an error of a kind, with a message that need not repeat the kind.
type fault struct{ kind, err error }

func (f *fault) Error() string   { return f.err.Error() }
func (f *fault) Unwrap() []error { return []error{f.kind, f.err} }

// faultf makes an error that wraps kind and everything wrapped by %w.
func faultf(kind error, format string, args ...any) error {
	return &fault{kind, fmt.Errorf(format, args...)}
}

// invalid makes an error that wraps ErrFormat.
func invalid(format string, args ...any) error {
	return &fault{ErrFormat, fmt.Errorf(format, args...)}
}

// within puts err, if any, at a place: an index such as [3] or a property's
// name, joined with the place that err already has.
func within(place string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := err.(*Error) //nolint:errorlint // only the outermost carries the place
	if !ok {
		return &Error{Where: place, Err: err}
	}
	switch {
	case inner.rooted:
		return inner
	case inner.Where == "":
		return &Error{Where: place, Err: inner.Err}
	case strings.HasPrefix(inner.Where, "["):
		return &Error{Where: place + inner.Where, Err: inner.Err}
	}
	return &Error{Where: place + "." + inner.Where, Err: inner.Err}
}

// at is within for a place that starts at the document's root: an error about
// an object keeps its place wherever the object was referred to.
func at(place string, err error) error {
	if err == nil {
		return nil
	}
	e := within(place, err).(*Error) //nolint:errorlint // what within returns
	e.rooted = true
	return e
}

// atItem is at for item i of one of the document's lists.
func atItem(name string, i int, err error) error {
	if err == nil {
		return nil
	}
	return at(fmt.Sprintf("%s[%d]", name, i), err)
}

// checkIndex reports an index into a list of the document that is out of range.
func checkIndex(name string, i, length int) error {
	if i < 0 || i >= length {
		return invalid("%s[%d] is not there: the file has %d", name, i, length)
	}
	return nil
}
