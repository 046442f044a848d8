// Package closest finds the known name that a mistyped one most resembles, for
// error messages.
package closest

import "strings"

// Name returns the candidate nearest to name by edit distance, ignoring case;
// "" if none is near enough to be a likely slip.
func Name(name string, candidates []string) string {
	best, bestDistance := "", max(2, len(name)/2)+1
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if d := distance(lower, strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Hint returns "did you mean X?" for the nearest candidate, or a list of all
// candidates when none is near.
func Hint(name string, candidates []string) string {
	if c := Name(name, candidates); c != "" {
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
