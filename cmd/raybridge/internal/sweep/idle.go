package sweep

import "fmt"

// idleKeys lists the keys that changed nothing: cases that differ in one of them alone kept the same.
func idleKeys(p *Plan, rows []row) (keys []string) {
	kept := make([]string, len(rows)) // by content; "" for none
	for i := range rows {
		if m := rows[i].found; m != nil {
			kept[i] = string(recordOf(m.Files))
		}
	}
	for k, key := range p.Keys {
		first := map[string]string{} // what was kept, by the other settings
		compared, differ := false, false
		for i := range rows {
			c := rows[i].Case
			if kept[i] == "" || k >= len(c.Values) {
				continue
			}
			others := fmt.Sprintf("%q %q %d", c.Values[:k], c.Values[k+1:], c.Seed)
			if before, ok := first[others]; !ok {
				first[others] = kept[i]
			} else {
				compared, differ = true, differ || before != kept[i]
			}
		}
		if compared && !differ {
			keys = append(keys, key)
		}
	}
	return keys
}
