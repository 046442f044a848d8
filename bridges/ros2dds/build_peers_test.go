//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest/process"
)

// cyclonePeer returns the program testdata/peers/cyclone_peer.c, built with Debian's
// Cyclone DDS.
func cyclonePeer(t *testing.T) string {
	t.Helper()
	return build(t, "cyclone_peer", map[string]string{"cyclone_peer.c": "", "print.h": ""}, func(g *generated) map[string]string {
		return map[string]string{"ros2.idl": g.idl.String(), "types_c.h": g.c.String()}
	}, `idlc -l c ros2.idl && gcc -O2 -Wall -o cyclone_peer cyclone_peer.c ros2.c -lddsc -lm`)
}

// fastPeer returns the program testdata/peers/fast_peer.cpp, built with Debian's Fast DDS
// without type objects, which Cyclone DDS 0.10 can't read.
func fastPeer(t *testing.T) string {
	t.Helper()
	return build(t, "fast_peer", map[string]string{"fast_peer.cpp": "", "print.h": ""}, func(g *generated) map[string]string {
		return map[string]string{"ros2.idl": g.idl.String(), "types_cpp.h": g.cpp.String()}
	}, `fastddsgen -replace ros2.idl && g++ -O1 -std=c++14 -w -o fast_peer fast_peer.cpp ros2.cxx ros2PubSubTypes.cxx -lfastrtps -lfastcdr -lpthread`)
}

// build makes a program of sources in testdata/peers and of generated files by a shell
// script, in a folder that is named by the hash of all of them: it is made once.
func build(t *testing.T, name string, sources map[string]string, more func(*generated) map[string]string, script string) string {
	t.Helper()
	files := map[string]string{}
	if more != nil {
		files = more(generate(t))
	}
	for source := range sources {
		text, err := os.ReadFile(filepath.Join("testdata", "peers", source))
		require.NoError(t, err)
		files[source] = string(text)
	}
	sum := sha256.New()
	for _, part := range []string{"ros2.idl", "types_c.h", "types_cpp.h", "cyclone_peer.c", "fast_peer.cpp", "cyclone_client.c", "services.idl", "print.h"} {
		sum.Write([]byte(part + "\x00" + files[part] + "\x00"))
	}
	sum.Write([]byte(script))
	dir := filepath.Join(process.Packages(), "ros2dds", name+"-"+hex.EncodeToString(sum.Sum(nil))[:16])
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	work, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	require.NoError(t, err)
	defer os.RemoveAll(work)
	for file, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(work, file), []byte(text), 0o644))
	}
	cmd := exec.Command("/bin/sh", "-e", "-c", script)
	cmd.Dir = work
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "build %s%s: %s", name, process.Hint(string(output)), strings.TrimSpace(string(output)))
	if err := os.Rename(work, dir); err != nil { // another test may have been first
		require.FileExists(t, program)
	}
	return program
}
