package dataset

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Split is a part of a set's scenes, such as those for training.
type Split struct {
	Name string `json:"name"`
	// Scenes are the keys of SceneRow, sorted.
	Scenes []string `json:"scenes"`
}

// Key names a scene among all of a set: its run and its number.
func (s *SceneRow) Key() string { return s.Run + "/" + strconv.Itoa(s.Number) }

// SplitOf returns the name of the split that a scene is in: the first one for a scene that was appended since the set was
// split, and "" in a set without splits.
func (h *Head) SplitOf(scene *SceneRow) string {
	for _, s := range h.Splits {
		if _, ok := slices.BinarySearch(s.Scenes, scene.Key()); ok {
			return s.Name
		}
	}
	if len(h.Splits) > 0 {
		return h.Splits[0].Name
	}
	return ""
}

// A Share is how large a split is to be.
type Share struct {
	Name string
	// Part is in proportion to the other splits' parts.
	Part float64
}

// ErrShares says that a text of shares can't be read.
var ErrShares = errors.New("shares of splits can't be read")

// ParseShares reads shares such as "train=0.8,val=0.2".
func ParseShares(text string) (shares []Share, err error) {
	for _, part := range strings.Split(text, ",") {
		name, number, _ := strings.Cut(part, "=")
		share, err := strconv.ParseFloat(number, 64)
		named := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
		twice := slices.ContainsFunc(shares, func(s Share) bool { return s.Name == name })
		if err != nil || !(share > 0) || math.IsInf(share, 0) || !named || twice {
			return nil, fmt.Errorf("%w: %q: want names and numbers above 0, such as train=0.8,val=0.2", ErrShares, text)
		}
		shares = append(shares, Share{name, share})
	}
	return shares, nil
}

// split deals scenes out to splits in proportion to their shares, in the order of the keys' hashes. So it depends on the scenes
// and the shares alone, and the runs of a sweep are mixed.
func split(keys []string, shares []Share) (splits []Split) {
	keys = slices.SortedFunc(slices.Values(keys), func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return cmp.Or(slices.Compare(x[:], y[:]), strings.Compare(a, b))
	})
	var sum, dealt float64
	for _, s := range shares {
		sum += s.Part
	}
	first := 0
	for _, s := range shares {
		dealt += s.Part
		last := int(math.Round(dealt / sum * float64(len(keys))))
		splits = append(splits, Split{s.Name, slices.Sorted(slices.Values(keys[first:last]))})
		first = last
	}
	return splits
}
