package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/hostdev"
)

// deviceFlags say what computes.
type deviceFlags struct {
	gpu  string
	host hostdev.Options
}

// gpuVariable is the variable of the environment that --gpu is without the flag.
const gpuVariable = "RAYBRIDGE_GPU"

func (f *deviceFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.gpu, "gpu", "", "`DEVICE`: auto (a GPU, else host), host, software, or a number that raybridge gpu lists;\nwithout it "+gpuVariable+", else auto")
	flags.StringVar(&f.host.ISA, "isa", "", "instruction `SET` of the host device: auto (the faster of the two widest, measured once),\navx512, avx2, sse2 or neon")
	flags.IntVar(&f.host.Threads, "threads", 0, "`N` threads of the host device; 0 is one for each core")
}

// arguments are the flags for another command.
func (f *deviceFlags) arguments() []string {
	return []string{"--gpu", f.gpu, "--isa", f.host.ISA, "--threads", strconv.Itoa(f.host.Threads)}
}

// name is what the flag or the environment says.
func (f *deviceFlags) name() string { return cmp.Or(f.gpu, os.Getenv(gpuVariable)) }

// isAuto reports whether nobody has chosen a device.
func (f *deviceFlags) isAuto() bool { return f.name() == "" || f.name() == "auto" }

// opener returns what opens the device.
func (f *deviceFlags) opener() (gpu.Opener, error) {
	open, err := raybridge.Device(f.name(), f.host)
	if err != nil && f.gpu == "" {
		return nil, fmt.Errorf("%s %w", gpuVariable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("--gpu %w", err)
	}
	return open, nil
}

// otherGPUs says which GPUs would do as well as the one that auto took: it takes the first that works.
func otherGPUs(devices []eglctx.Device, taken string) string {
	at := slices.IndexFunc(devices, func(d eglctx.Device) bool { return !d.Software && d.String() == taken })
	if at < 0 {
		return ""
	}
	var names []string
	for _, d := range devices[at+1:] {
		if !d.Software {
			names = append(names, fmt.Sprintf("--gpu %d takes %v", d.Number, d))
		}
	}
	return strings.Join(names, "; ")
}

func newGPU() *cobra.Command {
	var f deviceFlags
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Show the devices, and what the chosen one can do",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			open, err := f.opener()
			if err != nil {
				return usage(err)
			}
			return showGPU(cmd.OutOrStdout(), open)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func showGPU(out io.Writer, open gpu.Opener) error {
	if devices, err := eglctx.Devices(); err == nil {
		fmt.Fprintf(out, "EGL devices: %d\n", len(devices))
		for _, d := range devices {
			fmt.Fprintf(out, "  %v\n", d)
		}
	}
	if isas := hostdev.ISAs(); len(isas) > 0 {
		fmt.Fprintf(out, "host device: %s\n", strings.Join(isas, ", "))
	}
	t, err := gpu.Start(open)
	if err != nil {
		return err
	}
	info := t.Info()
	for _, why := range info.PassedOver {
		fmt.Fprintf(out, "a GPU can't be used: %s\n", why)
	}
	timestamps := fmt.Sprintf("%d bits", info.TimestampBits)
	if info.TimestampBits == 0 {
		timestamps = "none"
	}
	for _, row := range [][2]string{
		{"device", info.Device}, {"class", info.Class()}, {"vendor", info.Vendor}, {"renderer", info.Renderer},
		{"version", info.Version}, {"GLSL", info.GLSL}, {"software", strconv.FormatBool(info.Software)},
		{"timer queries", timestamps},
		{"texture size", fmt.Sprint(info.Limits.MaxTextureSize)},
		{"texture buffer", fmt.Sprintf("%d texels", info.Limits.MaxTextureBufferTexels)},
		{"storage block", fmt.Sprintf("%d bytes", info.Limits.MaxStorageBlockBytes)},
		{"uniform block", fmt.Sprintf("%d bytes", info.Limits.MaxUniformBlockBytes)},
		{"a stage has", fmt.Sprintf("%d samplers, %d uniform blocks, %d storage blocks, %d images", info.Limits.MaxSamplers, info.Limits.MaxUniformBlocks, info.Limits.MaxStorageBlocks, info.Limits.MaxImages)},
		{"compute groups", fmt.Sprint(info.Limits.MaxComputeGroups)},
		{"group size", fmt.Sprintf("%d invocations, %d bytes", info.Limits.MaxComputeInvocations, info.Limits.MaxSharedBytes)},
		{"missing", cmp.Or(strings.Join(info.Missing, "; "), "nothing")},
	} {
		fmt.Fprintf(out, "%-15s %s\n", row[0], row[1])
	}
	return t.Close()
}
