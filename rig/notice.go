package rig

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

// Notice is something about a rig that its user should know and that is no error.
type Notice struct {
	// File, Line and Column are the place, 1-based; Path leads to it in the document.
	File         string
	Line, Column int
	Path         string
	// Text says what is so, as an error would.
	Text string
	// Lost: something in the file has no counterpart here and does nothing.
	// Otherwise it was understood, or put up with.
	Lost bool
}

// String returns the notice with its place: "rig.json:3:7: [2].params: ...".
func (n Notice) String() string {
	return (&yamldoc.Error{File: n.File, Line: n.Line, Column: n.Column, Path: n.Path, Err: errors.New(n.Text)}).Error()
}

// brief returns the notice with its line alone, for comments in a file that says
// elsewhere which file is meant.
func (n Notice) brief() string {
	text := strings.TrimPrefix(n.Text, noCounterpart)
	if n.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", n.Line, text)
}

// noCounterpart begins the texts of what is lost.
const noCounterpart = "no counterpart: "

// noticeOf turns an error into a notice at its place.
func noticeOf(err error, lost bool) Notice {
	n := Notice{Text: err.Error(), Lost: lost}
	var placed *yamldoc.Error
	if errors.As(err, &placed) {
		n.File, n.Line, n.Column, n.Path, n.Text = placed.File, placed.Line, placed.Column, placed.Path, placed.Err.Error()
	}
	return n
}
