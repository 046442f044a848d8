package sweep

import (
	"maps"
	"slices"
	"strings"
)

// keyGroup is keys whose settings change each other's, so that their order counts, such as rig and sensors.lidar.range. Keys
// of two groups change the configuration as if they were alone.
type keyGroup struct {
	keys  []int                 // indices of Plan.Keys, in their order
	known map[string][]leafLine // what values change that were set together
}

// group divides the keys.
func (b *builder) group() (groups []*keyGroup) {
	for i, key := range b.plan.Keys {
		if key == seedKey {
			continue
		}
		next := &keyGroup{keys: []int{i}, known: map[string][]leafLine{}}
		groups = slices.DeleteFunc(groups, func(g *keyGroup) bool {
			joined := slices.ContainsFunc(g.keys, func(k int) bool { return b.interact(k, i) })
			if joined {
				next.keys = append(next.keys, g.keys...)
			}
			return joined
		})
		slices.Sort(next.keys)
		groups = append(groups, next)
	}
	return groups
}

// interact reports whether two keys, the first one's index below the second's, belong to one group: one contains the
// other, or values of both make another configuration than each of them says.
func (b *builder) interact(first, second int) bool {
	if contains(b.plan.Keys[first], b.plan.Keys[second]) || contains(b.plan.Keys[second], b.plan.Keys[first]) {
		return true
	}
	values := make([]string, len(b.plan.Keys))
	for _, one := range b.samples(first) {
		for _, two := range b.samples(second) {
			apart, ok := b.ids.id(0, one.changes, two.changes)
			if !ok {
				return true
			}
			values[first], values[second] = one.value.Text, two.value.Text
			lines, err := b.whole(values)
			if err != nil || b.ids.sum(0, newIdentity(b.plan, lines).leaves) != apart {
				return true
			}
		}
	}
	return false
}

// contains reports whether a key's value is part of another one's. A rig brings the sensors.
func contains(outer, inner string) bool {
	if outer == rigKey {
		outer = "sensors"
	}
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// samples are values of a key, of those that change the same leaves one. A mapping or a list may set what it doesn't
// change, so that each counts.
func (b *builder) samples(key int) (list []*variant) {
	const most = 8 // pairs of them are tried
	kinds := map[string]bool{}
	of := b.variants[b.plan.Keys[key]]
	for _, text := range slices.Sorted(maps.Keys(of)) {
		kind := text
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			kind = ""
			for _, l := range of[text].changes {
				kind += l.key + "\n"
			}
		}
		if !kinds[kind] && len(list) < most {
			kinds[kind] = true
			list = append(list, of[text])
		}
	}
	return list
}

// changesIn is what a combination's values of a group change.
func (b *builder) changesIn(g *keyGroup, values []string) ([]leafLine, error) {
	own := make([]string, len(values))
	given, last := 0, 0
	for _, k := range g.keys {
		if own[k] = values[k]; own[k] != "" {
			given, last = given+1, k
		}
	}
	switch given {
	case 0:
		return nil, nil
	case 1:
		return b.changesOf(last, own[last]), nil
	}
	together := strings.Join(own, "\x00")
	if list, ok := g.known[together]; ok {
		return list, nil
	}
	lines, err := b.whole(own)
	if err != nil {
		return nil, err
	}
	const most = 1000 // a bound of the memory
	if len(g.known) >= most {
		clear(g.known)
	}
	g.known[together] = b.changes(lines)
	return g.known[together], nil
}
