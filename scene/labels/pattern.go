package labels

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
)

// nodeName is a node's name, as matchers look at it.
type nodeName struct {
	raw   string
	words string // lower-case words, each with a space on both sides
}

func newNodeName(name string) nodeName {
	return nodeName{raw: name, words: " " + strings.Join(words(name), " ") + " "}
}

// matcher reports whether a pattern matches a name.
type matcher func(nodeName) bool

// compilePattern makes the matcher of a rule's pattern.
func compilePattern(pattern string) (matcher, error) {
	if expr, ok := strings.CutPrefix(pattern, "re:"); ok {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, err
		}
		return func(n nodeName) bool { return re.MatchString(n.raw) }, nil
	}
	if phrases, ok := strings.CutPrefix(pattern, "word:"); ok {
		return compilePhrases(phrases)
	}
	if pattern == "" {
		return nil, errors.New("empty pattern: give a glob such as building_*, re:EXPRESSION or word:PHRASE")
	}
	re, err := regexp.Compile(globExpression(pattern))
	if err != nil {
		return nil, err
	}
	return func(n nodeName) bool { return re.MatchString(n.raw) }, nil
}

func compilePhrases(phrases string) (matcher, error) {
	var want []string
	for phrase := range strings.SplitSeq(phrases, "|") {
		w := words(phrase)
		if len(w) == 0 {
			return nil, errors.New("word: needs at least one letter in each phrase")
		}
		want = append(want, " "+strings.Join(w, " ")+" ")
	}
	return func(n nodeName) bool {
		for _, w := range want {
			if strings.Contains(n.words, w) {
				return true
			}
		}
		return false
	}, nil
}

// globExpression is the regular expression of a glob over the whole name.
func globExpression(glob string) string {
	quoted := regexp.QuoteMeta(glob)
	quoted = strings.ReplaceAll(quoted, `\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\?`, `.`)
	return `(?is)\A` + quoted + `\z`
}

// words splits a name at everything that is no letter and before a capital
// that starts a word: TrafficLight_03a is traffic, light, a; LODCar is lod, car.
func words(name string) []string {
	runes := []rune(name)
	var out []string
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			flush(i)
			start = i + 1
			continue
		}
		if i == start || !unicode.IsUpper(r) {
			continue
		}
		endsLower := unicode.IsLower(runes[i-1])
		startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if endsLower || startsWord {
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return out
}
