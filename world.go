package raybridge

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/csv"
	"github.com/raybridge/raybridge/world/osi"
	"github.com/raybridge/raybridge/world/sumo"
)

// Worlds are the kinds of worlds that may move the actors from outside.
func Worlds() []world.Kind { return []world.Kind{csv.Kind, osi.Kind, sumo.Kind} }

// OpenWorld opens KIND:ADDRESS, such as csv:drive.csv, for Sim.Follow. The kind is one of Worlds.
// The caller closes the source.
func OpenWorld(ctx context.Context, spec string, o world.Options) (kind string, s world.Source, err error) {
	kind, address, ok := strings.Cut(spec, ":")
	var known []string
	for _, k := range Worlds() {
		if known = append(known, k.Name); k.Name != kind {
			continue
		}
		if !ok || address == "" {
			return "", nil, fmt.Errorf("world %q: need %s:%s", spec, k.Name, k.Form)
		}
		if s, err = k.Open(ctx, address, o); err != nil {
			return "", nil, fmt.Errorf("world %s: %w", kind, err)
		}
		return kind, s, nil
	}
	hint := fault.Hint(kind, known)
	if ending := filepath.Ext(spec); !ok && ending != "" { // a file alone
		for _, k := range Worlds() {
			if ending == "."+k.Name || strings.Contains(k.Form, ending) {
				hint = fmt.Sprintf("did you mean %s:%s?", k.Name, spec)
			}
		}
	}
	return "", nil, fmt.Errorf("world %q: need KIND:ADDRESS, %s", spec, hint)
}
