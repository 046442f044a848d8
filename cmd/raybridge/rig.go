package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	sensorsall "github.com/raybridge/raybridge/sensors/all"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
)

func newRig() *cobra.Command {
	cmd := group(&cobra.Command{Use: "rig", Short: "Check rigs, and convert those of other simulators"})
	cmd.AddCommand(newRigCheck(), newRigConvert())
	return cmd
}

func newRigCheck() *cobra.Command {
	var lenient bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Read a rig and say whether a run would accept it",
		Args:  oneArg("a rig file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, topics, err := readRig(cmd, args[0], lenient)
			if err != nil {
				return usage(err)
			}
			list, err := r.Resolve(sensorsall.Registry())
			if err != nil {
				return usage(err)
			}
			asked, err := bridgesAsked(&config.Config{Sensors: r.Sensors, RigBridges: r.Bridges})
			if err != nil {
				return usage(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: good; %s\n", args[0], fault.Count(len(list), "sensor"))
			listSensors(cmd.OutOrStdout(), list, topics)
			listLenses(cmd.OutOrStdout(), list)
			listAsked(cmd.OutOrStdout(), asked)
			return nil
		},
	}
	cmd.Flags().BoolVar(&lenient, "lenient", false, lenientUsage)
	return cmd
}

// listLenses says what the cameras see whose lens isn't a plain pinhole.
func listLenses(out io.Writer, list []sensors.Spec) {
	for _, spec := range list {
		s, err := spec.Definition.New(spec)
		if err != nil {
			continue // readRig has made it
		}
		if c, ok := s.(interface{ LensSummary() string }); ok && c.LensSummary() != "" {
			fmt.Fprintf(out, "%s: %s\n", spec.Name, c.LensSummary())
		}
	}
}

func newRigConvert() *cobra.Command {
	var lenient bool
	var out string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write an SVL vehicle's sensors, or CARLA's objects.json or stack.json, as our YAML, and say what has no counterpart",
		Example: "  raybridge rig convert vehicle.json -o vehicle.yaml\n" +
			"  raybridge run --rig vehicle.yaml --duration 10s --bridge mcap:drive",
		Args: oneArg("a rig file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := readRig(cmd, args[0], lenient)
			if err != nil {
				return usage(err)
			}
			if out == "" {
				return r.WriteYAML(cmd.OutOrStdout())
			}
			var text bytes.Buffer
			if err := r.WriteYAML(&text); err != nil {
				return err
			}
			return usage(fault.File(os.WriteFile(out, text.Bytes(), 0o644)))
		},
	}
	cmd.Flags().BoolVar(&lenient, "lenient", false, lenientUsage)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write into `FILE` instead of to the terminal")
	return cmd
}

// warnRig says what there is to say of a rig that a run would accept.
func warnRig(log *slog.Logger, notices []rig.Notice, list []sensors.Config) {
	for _, n := range notices {
		log.Warn(n.String())
	}
	if len(list) == 0 {
		log.Warn("the rig has no sensors: a run publishes only /clock and the vehicle's frame")
	}
}

// readRig reads a rig that a run would accept, and prints what there is to say of it.
// The topics are those of each sensor.
func readRig(cmd *cobra.Command, file string, lenient bool) (r *rig.Rig, topics [][]string, err error) {
	r, err = rig.Reader{Lenient: lenient}.Read(file)
	if r == nil {
		return nil, nil, err
	}
	var faults doc.Faults
	faults.Add(err)
	noteRig(r, lenient)
	warnRig(newLog(cmd.ErrOrStderr(), false), r.Notices, r.Sensors)
	topics, err = pipeline.RigTopics(r, sensorsall.Registry())
	faults.Add(err)
	return r, topics, faults.Err()
}
