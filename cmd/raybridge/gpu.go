package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
)

// deviceOpener reads --gpu.
func deviceOpener(device string) (gpu.Opener, error) {
	open, err := raybridge.Device(device)
	if err != nil {
		return nil, fmt.Errorf("--gpu %w", err)
	}
	return open, nil
}

func newGPU() *cobra.Command {
	var device string
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Show the OpenGL devices, and what the chosen one can do",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			open, err := deviceOpener(device)
			if err != nil {
				return usage(err)
			}
			return showGPU(cmd.OutOrStdout(), open)
		},
	}
	cmd.Flags().StringVar(&device, "gpu", "auto", "`DEVICE`: auto, software, or a number from the list")
	return cmd
}

func showGPU(out io.Writer, open gpu.Opener) error {
	if devices, err := eglctx.Devices(); err == nil {
		fmt.Fprintf(out, "EGL devices: %d\n", len(devices))
		for _, d := range devices {
			fmt.Fprintf(out, "  %v\n", d)
		}
	}
	t, err := gpu.Start(open)
	if err != nil {
		return err
	}
	info := t.Info()
	timestamps := fmt.Sprintf("%d bits", info.TimestampBits)
	if info.TimestampBits == 0 {
		timestamps = "none"
	}
	for _, row := range [][2]string{
		{"device", info.Device}, {"vendor", info.Vendor}, {"renderer", info.Renderer},
		{"version", info.Version}, {"GLSL", info.GLSL}, {"software", strconv.FormatBool(info.Software)},
		{"timer queries", timestamps},
		{"texture size", fmt.Sprint(info.Limits.MaxTextureSize)},
		{"texture buffer", fmt.Sprintf("%d texels", info.Limits.MaxTextureBufferTexels)},
		{"storage block", fmt.Sprintf("%d bytes", info.Limits.MaxStorageBlockBytes)},
		{"compute groups", fmt.Sprint(info.Limits.MaxComputeGroups)},
		{"group size", fmt.Sprintf("%d invocations", info.Limits.MaxComputeInvocations)},
		{"missing", missing(info)},
	} {
		fmt.Fprintf(out, "%-15s %s\n", row[0], row[1])
	}
	return t.Close()
}

func missing(info gpu.Info) string {
	if len(info.Missing) == 0 {
		return "nothing"
	}
	return strings.Join(info.Missing, "; ")
}
