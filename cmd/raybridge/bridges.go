package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/reference"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

// bridgeRegistry has the program's bridges, to look things up in. It is made once: that takes as long as a short run's
// first steps. Commands that describe bridges, which adds types to them, and those that carry messages take another.
var bridgeRegistry = sync.OnceValue(bridgesall.Registry)

func newBridges() *cobra.Command {
	cmd := group(&cobra.Command{Use: "bridges", Short: "Show where messages can go"})
	var list, show bool
	lister := &cobra.Command{
		Use: "list", Short: "List the bridges and the forms of their connections", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var descriptions []bridgeDescription
			for _, p := range bridgesall.Registry().Plugins() {
				descriptions = append(descriptions, describeBridge(p))
			}
			if list {
				return printJSON(cmd.OutOrStdout(), descriptions)
			}
			w := columns(cmd.OutOrStdout())
			for _, d := range descriptions {
				options := ""
				if len(d.Options) > 0 {
					options = "[?...]"
				}
				fmt.Fprintf(w, "%s:%s%s\t%s\t%s\n", d.Name, d.Connection, options, d.Kind, d.line())
			}
			if err := w.Flush(); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "\nraybridge bridges show NAME lists a bridge's options and messages.")
			return err
		},
	}
	lister.Flags().BoolVar(&list, "json", false, "print JSON")
	shower := &cobra.Command{
		Use: "show NAME", Short: "Show a bridge's connection, its options and the messages that it carries",
		Args: oneArg("the name of a bridge, such as mcap"), ValidArgsFunction: completeBridgeName,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := bridgesall.Registry().Plugin(args[0])
			if err != nil {
				return usage(err)
			}
			d := describeBridge(p)
			if show {
				return printJSON(cmd.OutOrStdout(), d)
			}
			return d.print(cmd.OutOrStdout())
		},
	}
	shower.Flags().BoolVar(&show, "json", false, "print JSON")
	cmd.AddCommand(lister, shower)
	return cmd
}

// bridgeDescription is a bridge as `raybridge bridges show --json` prints it.
type bridgeDescription struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Kind is "file" or "network".
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	// Connection is the form of what follows NAME: in --bridge, before the options; Default
	// is what an empty one stands for.
	Connection string           `json:"connection"`
	Default    string           `json:"default,omitempty"`
	Options    []bridges.Option `json:"options"`
	// Policy is what a full queue does unless told otherwise.
	Policy   string                `json:"policy"`
	Messages []bridges.TypeInfo    `json:"messages"`
	Services []bridges.ServiceInfo `json:"services"`
	// Gaps are what sensors publish and the bridge doesn't carry.
	Gaps []bridges.Gap `json:"gaps"`
}

func describeBridge(p *bridges.Plugin) bridgeDescription {
	info := p.Info()
	d := bridgeDescription{
		Name: info.Name, Type: info.Type, Kind: info.Kind.String(), Summary: info.Summary, Connection: info.Connection,
		Default: info.Default, Policy: "drop_oldest",
		// Readers of the JSON form find lists, also where nothing is in them.
		Options: append([]bridges.Option{}, info.Options...), Messages: append([]bridges.TypeInfo{}, p.Types()...),
		Services: append([]bridges.ServiceInfo{}, p.Services()...), Gaps: []bridges.Gap{},
	}
	gaps, _ := reference.NotCarried(p, sensorsall.Registry()) // a test looks for those without a reason
	d.Gaps = append(d.Gaps, gaps...)
	if info.Kind == bridges.KindFile {
		d.Policy = "block"
	}
	return d
}

// line is the bridge's line in a list: its type where the name doesn't say it.
func (d *bridgeDescription) line() string {
	if d.Type == d.Name {
		return d.Summary
	}
	return d.Summary + " (type " + d.Type + ")"
}

// print writes the description for people.
func (d *bridgeDescription) print(out io.Writer) error {
	w := columns(out)
	fmt.Fprintf(w, "%s\t%s\n", d.Name, d.Summary)
	fmt.Fprintf(w, "type\t%s\n", d.Type)
	fmt.Fprintf(w, "kind\t%s\n", d.Kind)
	fmt.Fprintf(w, "policy\t%s, unless --policy or the configuration says otherwise\n", d.Policy)
	fmt.Fprintf(w, "connection\t%s:%s\n", d.Name, d.Connection)
	if d.Default != "" {
		fmt.Fprintf(w, "default\t%s:%s\n", d.Name, d.Default)
	}
	section(w, "option\tdefault\tmeaning", d.Options, func(o *bridges.Option) string {
		return "?" + o.Form() + "\t" + o.Default + "\t" + o.Meaning
	})
	section(w, "message\tin the protocol\tdirection", d.Messages, func(m *bridges.TypeInfo) string {
		return m.Go + "\t" + m.Wire + "\t" + direction(m)
	})
	section(w, "service\trequest\tresponse", d.Services, func(s *bridges.ServiceInfo) string {
		return s.Wire + "\t" + s.Request + "\t" + s.Response
	})
	section(w, "not carried\twhy", d.Gaps, func(g *bridges.Gap) string { return g.Go + "\t" + g.Reason })
	return w.Flush()
}

// direction says which way a message goes.
func direction(m *bridges.TypeInfo) string {
	switch {
	case m.Publishes && m.Subscribes:
		return "out and in"
	case m.Publishes:
		return "out"
	case m.Subscribes:
		return "in"
	default:
		return "-"
	}
}
