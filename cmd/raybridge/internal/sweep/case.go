package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
)

// idSchema is the version of what a case's id is the hash of.
const idSchema = 1

// Case is one run of a sweep.
type Case struct {
	// ID is the hash of everything that decides the case's bytes, 32 hexadecimal digits.
	ID string `json:"id"`
	// Values are those of Plan.Keys, as YAML; "" leaves the key as it is in the base.
	Values []string `json:"values,omitempty"`
	// Seed is the run's.
	Seed uint64 `json:"seed"`
}

var idForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// identity is what all ids of a plan have in common.
type identity struct {
	version, class string
	keep           []string
	leaves         []leafLine // of the base, by key
	at             map[string]int
}

// leafLine is a leaf as it is hashed. An empty text is a leaf that isn't there.
type leafLine struct{ key, text string }

// lineOf writes a leaf so that no two leaves are written alike.
func lineOf(key, value string) leafLine {
	text := strconv.AppendQuote(nil, key)
	return leafLine{key, string(strconv.AppendQuote(append(text, ':'), value))}
}

// newIdentity takes the leaves of the base. The run's seed is each case's own.
func newIdentity(p *Plan, leaves []leafLine) *identity {
	n := &identity{version: p.Version, class: p.Class, keep: p.Keep, at: map[string]int{}}
	n.leaves = slices.DeleteFunc(slices.Clone(leaves), func(l leafLine) bool { return l.key == seedKey })
	slices.SortFunc(n.leaves, func(a, b leafLine) int { return cmp.Compare(a.key, b.key) })
	for i, l := range n.leaves {
		n.at[l.key] = i
	}
	return n
}

// hasher makes ids. It isn't for several goroutines at once.
type hasher struct {
	*identity
	lines   []leafLine
	changed []bool
	text    []byte
}

func (n *identity) hasher() *hasher {
	return &hasher{identity: n, changed: make([]bool, len(n.leaves))}
}

// id returns the id of the base with changes. It reports false where two changes are to the same leaf, so that their
// order would count.
func (h *hasher) id(seed uint64, changes ...[]leafLine) (id string, ok bool) {
	h.lines = append(h.lines[:0], h.leaves...)
	clear(h.changed)
	for _, list := range changes {
		for _, change := range list {
			at, known := h.at[change.key]
			switch {
			case !known && slices.ContainsFunc(h.lines[len(h.leaves):], func(l leafLine) bool { return l.key == change.key }),
				known && h.changed[at]:
				return "", false
			case known:
				h.lines[at], h.changed[at] = change, true
			default:
				h.lines = append(h.lines, change)
			}
		}
	}
	if len(h.lines) > len(h.leaves) {
		slices.SortFunc(h.lines, func(a, b leafLine) int { return cmp.Compare(a.key, b.key) })
	}
	return h.sum(seed, h.lines), true
}

// sum hashes leaves that lie in order.
func (h *hasher) sum(seed uint64, lines []leafLine) string {
	t := strconv.AppendInt(h.text[:0], idSchema, 10)
	for _, word := range append([]string{h.version, h.class}, h.keep...) {
		t = strconv.AppendQuote(append(t, ' '), word)
	}
	t = strconv.AppendUint(append(t, "\nseed "...), seed, 10)
	for _, l := range lines {
		if l.text != "" {
			t = append(append(t, '\n'), l.text...)
		}
	}
	h.text = t
	sum := sha256.Sum256(t)
	return hex.EncodeToString(sum[:16])
}
