package gltf

import "fmt"

// warnings collects what was left out; a warning that many places share is
// one line with their count.
type warnings struct {
	order []string
	first map[string]string // the first place, by message
	count map[string]int
}

// add notes a message about a place such as "nodes[3]", or "" for the file.
func (w *warnings) add(place, message string) {
	if w.count == nil {
		w.first, w.count = map[string]string{}, map[string]int{}
	}
	if w.count[message] == 0 {
		w.order = append(w.order, message)
		w.first[message] = place
	}
	w.count[message]++
}

func (w *warnings) list() []string {
	var out []string
	for _, message := range w.order {
		place := w.first[message]
		switch more := w.count[message] - 1; {
		case place == "":
		case more > 0:
			message = fmt.Sprintf("%s and %d more: %s", place, more, message)
		default:
			message = place + ": " + message
		}
		out = append(out, message)
	}
	return out
}

func (l *loader) warn(place, format string, args ...any) {
	l.warnings.add(place, fmt.Sprintf(format, args...))
}
