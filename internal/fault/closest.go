package fault

import (
	"strconv"
	"strings"
)

// longest bounds the work on hostile input: names much longer than any
// candidate are all equally far away.
const longest = 64

// Closest returns the candidate that name is a likely slip of, "" for none. From three letters
// on it is the shortest that begins with name. Else it is the one with the fewest slips, the first of equals: at
// most one in three letters, and one in a shorter name. A slip is a letter that is wrong,
// missing or too many, or two that have changed places. Case doesn't count. A candidate that
// shares no letter's place doesn't count, and for a number nothing does.
func Closest(name string, candidates []string) string {
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return ""
	}
	name = name[:min(len(name), longest)]
	c, slips := nearest(name, candidates)
	if longer := completion(name, candidates); longer != "" && slips > 0 {
		return longer
	}
	if slips > max(1, (len(name)+1)/3) || slips >= max(len(name), len(c)) {
		return ""
	}
	return c
}

// nearest returns the first candidate with the fewest slips, and their number.
func nearest(name string, candidates []string) (candidate string, slips int) {
	lower := strings.ToLower(name)
	for i, c := range candidates {
		if d := distance(lower, strings.ToLower(c)); i == 0 || d < slips {
			candidate, slips = c, d
		}
	}
	return candidate, slips
}

// completion returns the shortest candidate that begins with name, "" for none or several.
func completion(name string, candidates []string) (shortest string) {
	if len(name) < 3 {
		return ""
	}
	several := false
	for _, c := range candidates {
		if len(c) < len(name) || !strings.EqualFold(c[:len(name)], name) || shortest != "" && len(c) > len(shortest) {
			continue
		}
		several = len(c) == len(shortest)
		shortest = c
	}
	if several {
		return ""
	}
	return shortest
}

// Want returns what an option may be, "want a, b or c", and after it the one that name is
// probably meant to be.
func Want(name string, words ...string) string {
	last := len(words) - 1
	text := "want " + words[last]
	if last > 0 {
		text = "want " + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	if near := Closest(name, words); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// Hint returns "did you mean X?" for the nearest candidate, or a list of all
// candidates when none is near. An empty list of candidates is named as such.
func Hint(name string, candidates []string) string {
	if len(candidates) == 0 {
		return "there are none"
	}
	if c := Closest(name, candidates); c != "" {
		return "did you mean " + c + "?"
	}
	return "known are " + strings.Join(candidates, ", ")
}

// distance is the distance of optimal string alignment: how many slips make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 0
			if a[i] != b[j] {
				cost = 1
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
