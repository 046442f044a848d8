//go:build cgo

package hostdev_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/hostdev"
)

// program returns a program's path. Without it the test fails.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, "run make setup-cpus")
	return path
}

// TestOtherCPUs replays recorded calls on emulated CPUs: those that have fewer instruction sets,
// where one instruction of another ends the process, and arm64. All give the bits of this one.
func TestOtherCPUs(t *testing.T) {
	if os.Getenv("REQUIRE_QEMU") != "1" || runtime.GOARCH != "amd64" {
		t.Skip("takes minutes, on x86-64; runs where REQUIRE_QEMU=1, as in make nightly")
	}
	qemu := program(t, "qemu-x86_64")
	calls := filepath.Join(t.TempDir(), "calls.json")
	recordAll(t, hostdev.Options{Threads: 2}).write(t, calls)
	self, err := os.Executable()
	require.NoError(t, err)
	on := func(isas []string, command ...string) func(*testing.T) {
		return func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "-test.run=^TestReplay$", "-test.v")...)
			cmd.Env = append(os.Environ(), replayed+"="+calls)
			out, _ := cmd.CombinedOutput()
			var got []string
			for _, found := range regexp.MustCompile(`--- (\w+: TestReplay/\w+)`).FindAllSubmatch(out, -1) {
				got = append(got, string(found[1]))
			}
			require.Len(t, got, len(isas), "%s", out)
			for i, isa := range isas {
				assert.Regexp(t, isa, got[i], "%s", out)
			}
		}
	}
	const sse2 = "PASS: TestReplay/sse2"
	for _, cpu := range []string{"qemu64", "Nehalem", "Haswell-noTSX,-bmi2"} {
		t.Run(cpu, on([]string{sse2}, qemu, "-cpu", cpu, self))
	}
	// With AVX2 QEMU 7.2 finds other shadows than any CPU: only that AVX2's kernels and those after
	// them run to their end counts.
	t.Run("Haswell", on([]string{"(?:PASS|FAIL): TestReplay/avx2", sse2}, qemu, "-cpu", "Haswell-noTSX", self))
	t.Run("arm64", func(t *testing.T) {
		arm, gcc := program(t, "qemu-aarch64"), program(t, "aarch64-linux-gnu-gcc")
		binary := filepath.Join(t.TempDir(), "hostdev.test")
		build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, ".")
		build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC="+gcc)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		on([]string{"PASS: TestReplay/neon"}, arm, "-L", "/usr/aarch64-linux-gnu", binary)(t)
	})
}
