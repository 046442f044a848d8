package raybridge

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
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
	k, address, err := worldOf(spec)
	if err != nil {
		return "", nil, err
	}
	if s, err = k.Open(ctx, address, o); err != nil {
		if other := fault.KindOf(address, nil); other.Taker() != "" && !takesFile(k, address) {
			err = fmt.Errorf("%w; it is %s: %s", err, other, other.Taker())
		}
		return "", nil, fmt.Errorf("world %s: %w", k.Name, err)
	}
	return k.Name, s, nil
}

// CheckWorld returns the error for which OpenWorld would refuse a world, as far as that shows without
// opening it. Its kind may be unknown, or there is no such file.
func CheckWorld(spec string) error {
	k, address, err := worldOf(spec)
	if err != nil {
		return err
	}
	path, _, _ := strings.Cut(address, "?")
	if _, port, err := net.SplitHostPort(strings.TrimPrefix(path, "udp:")); err == nil && port != "" || strings.HasPrefix(path, "udp:") {
		return nil // nobody has to be there yet
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("world %s: %w", k.Name, fault.File(err))
	}
	return nil
}

// worldOf returns the kind of world that KIND:ADDRESS names, and the address.
func worldOf(spec string) (kind world.Kind, address string, err error) {
	name, address, ok := strings.Cut(spec, ":")
	for _, k := range Worlds() {
		if k.Name != name {
			continue
		}
		if !ok || address == "" {
			return k, "", fmt.Errorf("world %q: need %s:%s", spec, k.Name, k.Form)
		}
		return k, address, nil
	}
	return kind, "", fmt.Errorf("world %q: %s", spec, worldHint(spec))
}

// worldHint says what to give in place of what names none of Worlds.
func worldHint(spec string) string {
	kind, address, found := strings.Cut(spec, ":")
	_, notPort := strconv.ParseUint(address, 10, 16)
	var known []string
	for _, k := range Worlds() {
		known = append(known, k.Name)
		file := !found && takesFile(k, spec)
		server := notPort == nil && strings.HasPrefix(k.Form, "HOST:PORT")
		datagrams := kind == "udp" && found && strings.Contains(k.Form, "udp:")
		if file || datagrams || server && kind != "udp" {
			return fmt.Sprintf("need KIND:ADDRESS, did you mean %s:%s?", k.Name, spec)
		}
	}
	need := "need KIND:ADDRESS, " + fault.Hint(kind, known)
	switch other := fault.KindOf(spec, nil); {
	case other == "":
		return need
	case other.Taker() == "":
		return fmt.Sprintf("it is %s, which is not a world: %s", other, need)
	default:
		return fmt.Sprintf("it is %s: %s", other, other.Taker())
	}
}

// takesFile reports whether a world takes files with this one's ending.
func takesFile(k world.Kind, name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending != "" && (ending == "."+k.Name || strings.Contains(k.Form, ending))
}
