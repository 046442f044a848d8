package check

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad it is to break a rule.
type Severity uint8

const (
	// Warning is for what readers cope with, and for measures that are likely faults. Only a strict check fails by it.
	Warning Severity = iota
	// Error is for what readers refuse or take for something else.
	Error
)

// String is a word for people and for JSON.
func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// MarshalText makes it that word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is something that holds in a good set.
type Rule struct {
	// ID is group.name, in small letters. Groups are structure (folders and tables), record (a row by itself), reference (rows and
	// others), format (files), geometry (numbers that must agree with each other) and evaluation.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Holds says what does, without a full stop.
	Holds string `json:"holds"`
}

// is reports whether a name is the rule's id or group.
func (r Rule) is(name string) bool { return r.ID == name || strings.HasPrefix(r.ID, name+".") }

// Place is where a rule is broken.
type Place struct {
	// File is a path from the set's root with slashes.
	File string `json:"file,omitempty"`
	// Row is the token, id or number of a row or line, "" for the file as a whole.
	Row string `json:"row,omitempty"`
}

// Finding is a broken rule.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Place
	// Message says what is wrong, and what is wanted.
	Message string `json:"message"`
}

// Share is a measure that no rule judges by itself: how much of something is so.
type Share struct {
	Name  string `json:"name"`
	Part  int64  `json:"part"`
	Whole int64  `json:"whole"`
}

// keptPerRule is how many findings of a rule are kept. A fault of the writer is in every row, and 20 of them say so as well as a million.
const keptPerRule = 20

// Findings collects what rules find. One goroutine at a time may use it.
type Findings struct {
	rules    []Rule
	excluded map[string]bool
	kept     map[string][]Finding
	counts   map[string]int
	shares   []Share
}

// NewFindings returns an empty collection. Rules that exclude names, by id or group, find nothing.
func NewFindings(rules []Rule, exclude []string) *Findings {
	f := &Findings{excluded: map[string]bool{}, kept: map[string][]Finding{}, counts: map[string]int{}}
	for _, r := range rules {
		if slices.ContainsFunc(exclude, r.is) {
			f.excluded[r.ID] = true
			continue
		}
		f.rules = append(f.rules, r)
	}
	return f
}

// Add says that a rule is broken at a place. It panics for a rule that the format doesn't have.
func (f *Findings) Add(rule string, at Place, format string, args ...any) {
	if f.excluded[rule] {
		return
	}
	i := slices.IndexFunc(f.rules, func(r Rule) bool { return r.ID == rule })
	if i < 0 {
		panic("check: no rule " + rule)
	}
	f.counts[rule]++
	if f.counts[rule] <= keptPerRule {
		f.kept[rule] = append(f.kept[rule], Finding{rule, f.rules[i].Severity, at, fmt.Sprintf(format, args...)})
	}
}

// Measure adds part of whole to the share of a name.
func (f *Findings) Measure(name string, part, whole int64) {
	for i := range f.shares {
		if s := &f.shares[i]; s.Name == name {
			s.Part += part
			s.Whole += whole
			return
		}
	}
	f.shares = append(f.shares, Share{name, part, whole})
}

// Rules are those that judged, in the format's order.
func (f *Findings) Rules() []Rule { return f.rules }

// All returns the findings in the order of the rules, at most 20 of each.
func (f *Findings) All() (all []Finding) {
	for _, r := range f.rules {
		all = append(all, f.kept[r.ID]...)
	}
	return all
}

// Count is how often a rule is broken.
func (f *Findings) Count(rule string) int { return f.counts[rule] }

// Total is how many findings there are of a severity and above.
func (f *Findings) Total(least Severity) (n int) {
	for _, r := range f.rules {
		if r.Severity >= least {
			n += f.counts[r.ID]
		}
	}
	return n
}

// Shares are the measures, in the order in which they came.
func (f *Findings) Shares() []Share { return f.shares }
