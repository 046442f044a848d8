package fault

import "strings"

// longest bounds the work on hostile input: names much longer than any
// candidate are all equally far away.
const longest = 64

// Nearest returns the candidate with the least edit distance to name, ignoring
// case, and that distance in bytes; of equals the first. Without candidates it
// returns "".
func Nearest(name string, candidates []string) (candidate string, edits int) {
	lower := strings.ToLower(name[:min(len(name), longest)])
	for i, c := range candidates {
		if d := distance(lower, strings.ToLower(c)); i == 0 || d < edits {
			candidate, edits = c, d
		}
	}
	return candidate, edits
}

// Closest returns the candidate that name is a likely slip of, "" for none. From three letters
// on it is the shortest that begins with name. Else it is the nearest, within two edits, one
// for a name of one or two letters, or half the letters of a long one. A candidate that
// shares no letter's place doesn't count.
func Closest(name string, candidates []string) string {
	c, edits := Nearest(name, candidates)
	if longer := completion(name, candidates); longer != "" && edits > 0 {
		return longer
	}
	limit := max(2, len(name)/2)
	if len(name) <= 2 {
		limit = 1
	}
	if edits > limit || edits >= max(len(name), len(c)) {
		return ""
	}
	return c
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

// distance is the Levenshtein distance of a and b, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
