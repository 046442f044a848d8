package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/judge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
)

// completeFlags tells the shell what may stand behind a command's flags; those that the
// command doesn't have are passed over.
func completeFlags(cmd *cobra.Command) {
	policies := []cobra.Completion{
		cobra.CompletionWithDesc(flow.Block.String(), "the sender waits"),
		cobra.CompletionWithDesc(flow.DropNewest.String(), "the new message is refused"),
		cobra.CompletionWithDesc(flow.DropOldest.String(), "what has waited longest goes"),
		cobra.CompletionWithDesc(flow.Exclusive.String(), "one message of a topic at a time"),
	}
	sources := []cobra.Completion{
		cobra.CompletionWithDesc(simtime.Engine, "advanced by the run itself, from 0"),
		cobra.CompletionWithDesc(simtime.SS2, "set over --api"),
		cobra.CompletionWithDesc(simtime.System, "the host's clock, since the UNIX epoch"),
		cobra.CompletionWithDesc(simtime.Simulation, "the host's clock, from 0"),
		cobra.CompletionWithDesc(simtime.ROS2, "/clock of a bridge"),
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"bridge":      completeBridge,
		"policy":      cobra.FixedCompletions(policies, cobra.ShellCompDirectiveNoFileComp),
		"time-source": cobra.FixedCompletions(sources, cobra.ShellCompDirectiveNoFileComp),
		"scene":       completeScene,
		"weather":     cobra.FixedCompletions(weather.Presets(), cobra.ShellCompDirectiveNoFileComp),
		judge.MaxDrops: completeListed(func() []cobra.Completion {
			var list []cobra.Completion
			for _, cause := range flow.Losses() {
				list = append(list, string(cause)+"=")
			}
			return list
		}),
	} {
		if cmd.Flag(flag) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // a flag is completed twice
		}
	}
}

// completeTopics completes TOPIC= in the limits of a command, by the topics that it judges.
func completeTopics(cmd *cobra.Command, topics func(args []string) []string) {
	for _, flag := range []string{judge.MinRate, judge.MaxLatency} {
		err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeListed(func() (list []cobra.Completion) {
				for _, topic := range topics(args) {
					list = append(list, topic+"=")
				}
				return list
			})(cmd, args, typed)
		})
		if err != nil {
			panic(err) // a flag is completed twice
		}
	}
}

// completeListed completes the last item of a list with commas.
func completeListed(items func() []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var list []cobra.Completion
		for _, item := range items() {
			list = append(list, before+item)
		}
		return matching(typed, list), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

// completeBridge completes TYPE:CONNECTION: the types, then where a bridge's connection
// leads without one, then its options.
func completeBridge(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	registry := bridgeRegistry()
	name, connection, named := strings.Cut(typed, ":")
	if !named {
		return matching(typed, bridgeNames(registry, ":")), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	plugin, err := registry.Plugin(name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	info := plugin.Info()
	target, _, hasOptions := strings.Cut(connection, "?")
	var list []cobra.Completion
	if address := name + ":" + info.Default; !hasOptions && info.Default != "" && !strings.ContainsAny(info.Default, " $") {
		list = append(list, cobra.CompletionWithDesc(address, "the default"))
	}
	if hasOptions || target != "" || info.Default != "" {
		list = append(list, optionsAfter(typed, info.Options)...)
	}
	return matching(typed, list), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// optionsAfter lists what may follow in a connection string: options that it doesn't have, or
// values of the last one.
func optionsAfter(typed string, options []bridges.Option) []cobra.Completion {
	begin, query, _ := strings.Cut(typed, "?")
	given := strings.Split(query, "&")
	begin += "?"
	if last := strings.LastIndex(query, "&"); last >= 0 {
		begin += query[:last+1]
	}
	var list []cobra.Completion
	for _, o := range options {
		if slices.ContainsFunc(given[:len(given)-1], func(g string) bool { return strings.HasPrefix(g, o.Key+"=") }) {
			continue
		}
		list = append(list, cobra.CompletionWithDesc(begin+o.Key+"=", o.Meaning))
		if !strings.HasPrefix(given[len(given)-1], o.Key+"=") {
			continue
		}
		for value := range strings.SplitSeq(o.Value, "|") {
			if strings.ToLower(value) == value { // words in capitals stand for something
				list = append(list, cobra.CompletionWithDesc(begin+o.Key+"="+value, o.Meaning))
			}
		}
	}
	return list
}

// completeBridgeName completes a bridge's name as an argument.
func completeBridgeName(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(typed, bridgeNames(bridgeRegistry(), "")), cobra.ShellCompDirectiveNoFileComp
}

// bridgeNames lists the bridges, each with what follows its name.
func bridgeNames(registry *bridges.Registry, after string) []cobra.Completion {
	var list []cobra.Completion
	for _, plugin := range registry.Plugins() {
		info := plugin.Info()
		list = append(list, cobra.CompletionWithDesc(info.Name+after, info.Summary))
	}
	return list
}

// completeScene completes the scenes with a name, folders and glTF files.
func completeScene(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := matching(typed, []cobra.Completion{
		cobra.CompletionWithDesc(config.SceneCity, "the procedural city"),
		cobra.CompletionWithDesc(config.ScenePlane, "flat ground, 4 km across"),
	})
	if list == nil || typed == "" {
		for _, kind := range []string{".gltf", ".glb"} {
			// A malformed pattern completes nothing.
			files, _ := filepath.Glob(typed + "*" + kind)
			list = append(list, files...)
		}
	}
	if len(list) > 0 {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"gltf", "glb"}, cobra.ShellCompDirectiveFilterFileExt // below folders
}

// matching returns those that begin with what was typed.
func matching(typed string, list []cobra.Completion) (found []cobra.Completion) {
	for _, c := range list {
		if strings.HasPrefix(c, typed) {
			found = append(found, c)
		}
	}
	return found
}
