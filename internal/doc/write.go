package doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Number returns a finite number as YAML that is read as the same one; 0 also for the negative zero.
func Number(f float64) string {
	switch a := math.Abs(f); {
	case f == 0:
		return "0"
	case a >= 1e-9 && a < 1e15:
		return strconv.FormatFloat(f, 'f', -1, 64)
	default:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}

// plainText is what YAML takes for a text without quotes.
var plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

// words mean something else to some reader of YAML.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// unwritable are the characters that JSON's texts may have as they are and YAML's may not (YAML
// 1.2.2, section 5.1). Next line and the byte order mark, which YAML reads otherwise, are among
// them.
var unwritable = regexp.MustCompile(`[\x{7f}-\x{9f}\x{feff}\x{fffe}\x{ffff}]`)

// Text returns a text as YAML that is read as the same one: in quotes where it needs them, always in one line.
func Text(text string) string {
	if plainText.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted) // JSON's escapes are YAML's
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can be written
	return unwritable.ReplaceAllStringFunc(strings.TrimSpace(quoted.String()), func(c string) string {
		return fmt.Sprintf(`\u%04x`, []rune(c)[0])
	})
}
