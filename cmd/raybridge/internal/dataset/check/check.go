// Package check finds what is wrong with data sets that training jobs load.
//
// Its formats' readers define the formats: they are written from the formats' descriptions alone, and share no code with the
// bridges that write such sets. internal/deps holds that.
//
// A [Format] finds its sets in a folder and opens them as a [Set]. A Set is checked by the rules of its format, and hands out what
// a report counts and draws.
package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

// ErrNoSet says that a folder holds a data set of none of the formats.
var ErrNoSet = errors.New("the folder holds no data set")

// ErrNoRule says that a rule is asked for that no format has.
var ErrNoRule = errors.New("no such rule")

// Format is a kind of data set.
type Format struct {
	// Name is a word in small letters, such as nuscenes.
	Name string
	// Rules are all that Open and Set.Check judge by. Their ids are unique within the format.
	Rules []Rule
	// Detect returns the names of the sets of this format that a folder holds, none if there are none. "" is a set without a name of
	// its own. It looks at names of files and folders only.
	Detect func(root fs.FS) []string
	// Open reads what a set's rows say, and adds what is wrong with it to f. The error is one that keeps a set from being read at
	// all, or one of the file system. Faults that f takes aren't errors: a Set works with what could be read.
	Open func(ctx context.Context, root fs.FS, name string, f *Findings) (Set, error)
}

// Set is an open data set. One goroutine at a time may use it.
type Set interface {
	// Check adds all that Open hasn't found to f. It reads the set's files.
	Check(ctx context.Context, f *Findings) error
	// Objects are the labels of the whole set, one for each object and key frame.
	Objects() iter.Seq[Object]
	// Frames is the number of key frames.
	Frames() int
	// Views returns the name of key frame i, and its pictures with what is labelled in them. A picture that can't be drawn is left out.
	Views(i int) (name string, views []View)
}

// Object is a label of one object in one key frame.
type Object struct {
	Category string
	// Distance is from the ego or the camera in metres, NaN if the format doesn't say.
	Distance float64
	// Occlusion is the format's own word for how much is hidden, "" for unknown. Words sort from visible to hidden.
	Occlusion string
}

// View is a picture of a key frame, and what is drawn over it. Coordinates are pixels from the picture's left upper corner, (0.5, 0.5) is
// the centre of its first pixel.
type View struct {
	Channel string
	// File is the picture's, JPEG or PNG, from the root.
	File string
	// Segments are the edges of boxes.
	Segments []Segment
	// Dots are points of lidars and radars.
	Dots []Dot
}

// Segment is a straight line. Its colour is that of the category.
type Segment struct {
	From, To [2]float64
	Category string
}

// Dot is a point that a sensor measured.
type Dot struct {
	At [2]float64
	// Depth is in metres: near ones are bright.
	Depth float64
}

// Result is what a check found in one set.
type Result struct {
	Format string
	// Name is the set's in its folder, "" where it has none.
	Name string
	*Findings
	// Set is nil if it could not be opened.
	Set Set
}

// Run checks all sets in a folder, except by the rules that exclude names: by their id, or all of a group. Errors wrap ErrNoSet, ErrNoRule,
// or are those of the context or the file system.
func Run(ctx context.Context, root fs.FS, formats []Format, exclude []string) (results []*Result, err error) {
	if err := known(formats, exclude); err != nil {
		return nil, err
	}
	for _, format := range formats {
		for _, name := range format.Detect(root) {
			r := &Result{Format: format.Name, Name: name, Findings: NewFindings(format.Rules, exclude)}
			if r.Set, err = format.Open(ctx, root, name, r.Findings); err != nil {
				return nil, fmt.Errorf("read the %s set: %w", format.Name, err)
			}
			if r.Set != nil {
				if err := r.Set.Check(ctx, r.Findings); err != nil {
					return nil, fmt.Errorf("check the %s set: %w", format.Name, err)
				}
			}
			results = append(results, r)
		}
	}
	if results == nil {
		return nil, noSet(formats)
	}
	return results, nil
}

// Open opens the first set in a folder, whatever is wrong with it.
func Open(ctx context.Context, root fs.FS, formats []Format) (Set, error) {
	for _, format := range formats {
		names := format.Detect(root)
		if len(names) == 0 {
			continue
		}
		set, err := format.Open(ctx, root, names[0], NewFindings(format.Rules, nil))
		if err == nil && set == nil {
			err = fmt.Errorf("%w that can be read: raybridge dataset check says why", ErrNoSet)
		}
		return set, err
	}
	return nil, noSet(formats)
}

func noSet(formats []Format) error {
	var names []string
	for _, format := range formats {
		names = append(names, format.Name)
	}
	return fmt.Errorf("%w of %s", ErrNoSet, strings.Join(names, ", "))
}

// known returns an error for a name that is neither a rule's id nor a group.
func known(formats []Format, names []string) error {
	for _, name := range names {
		named := func(r Rule) bool { return r.is(name) }
		if !slices.ContainsFunc(formats, func(f Format) bool { return slices.ContainsFunc(f.Rules, named) }) {
			return fmt.Errorf("%w: %q, --rules lists them", ErrNoRule, name)
		}
	}
	return nil
}
