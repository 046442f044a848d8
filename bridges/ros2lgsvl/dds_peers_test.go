//go:build peers && ros2dds

package ros2lgsvl_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// types are the files that the subscriber is compiled from. They are the messages in IDL, of
// which idlc generates the code that decodes them, and functions that print what it decoded.
type types struct {
	idl, print strings.Builder
	done       []string
}

// idlTypes are the primitives' names in IDL.
var idlTypes = map[string]string{
	"bool": "boolean", "int8": "int8", "uint8": "octet", "byte": "octet", "char": "octet", "int16": "short", "uint16": "unsigned short",
	"int32": "long", "uint32": "unsigned long", "float32": "float", "float64": "double", "string": "string",
}

// ddsType is the name of a type on ROS 2's wire: "pkg/Name" is "pkg::msg::dds_::Name_".
func ddsType(name string) string { return strings.Replace(name, "/", "::msg::dds_::", 1) + "_" }

func cType(name string) string { return strings.ReplaceAll(ddsType(name), "::", "_") }

// add describes a type after those it is made of.
func (g *types) add(d *peers.Definition) {
	if slices.Contains(g.done, d.Name) {
		return
	}
	for _, f := range d.Fields {
		if f.Message != nil {
			g.add(f.Message)
		}
	}
	g.done = append(g.done, d.Name)
	pkg, name, _ := strings.Cut(d.Name, "/")
	fmt.Fprintf(&g.idl, "module %s { module msg { module dds_ { @final struct %s_ {\n", pkg, name)
	fmt.Fprintf(&g.print, "static void print_%s(FILE *f, const %s *m) {\n", cType(d.Name), cType(d.Name))
	for i, f := range d.Fields {
		fmt.Fprintf(&g.print, "  fputs(\"%s\\\"%s\\\":\", f);\n", map[bool]string{true: "{", false: ","}[i == 0], f.Name)
		g.field(f)
	}
	g.idl.WriteString("}; }; }; };\n")
	g.print.WriteString("  fputs(\"}\", f);\n}\n")
}

func (g *types) field(f peers.Field) {
	element, print, reference := idlTypes[f.Type], "print_"+f.Type, ""
	if f.Message != nil {
		element, print, reference = ddsType(f.Message.Name), "print_"+cType(f.Message.Name), "&"
	}
	items, length := "m->m_"+f.Name, strconv.Itoa(f.Array)
	switch {
	case f.Array == peers.Single:
		fmt.Fprintf(&g.idl, "  %s m_%s;\n", element, f.Name)
		fmt.Fprintf(&g.print, "  %s(f, %sm->m_%s);\n", print, reference, f.Name)
		return
	case f.Array == peers.Sequence:
		fmt.Fprintf(&g.idl, "  sequence<%s> m_%s;\n", element, f.Name)
		items, length = items+"._buffer", items+"._length"
	default:
		fmt.Fprintf(&g.idl, "  %s m_%s[%d];\n", element, f.Name, f.Array)
	}
	if element == "octet" {
		fmt.Fprintf(&g.print, "  print_bytes(f, %s, %s);\n", items, length)
		return
	}
	fmt.Fprintf(&g.print, "  fputc('[', f);\n  for (uint32_t i = 0; i < %s; i++) {\n    if (i) fputc(',', f);\n    %s(f, %s%s[i]);\n  }\n  fputc(']', f);\n",
		length, print, reference, items)
}

// build makes the two programs and returns their folder.
func build(t *testing.T) string {
	t.Helper()
	g := &types{}
	for _, pub := range rossample.SVL() {
		d, err := peers.LoadDefinition(strings.Replace(pub.Type, "/msg/", "/", 1), ros.MessageFile)
		require.NoError(t, err)
		g.add(d)
	}
	g.print.WriteString("#define TYPES(T)")
	for _, name := range g.done {
		fmt.Fprintf(&g.print, " T(%s, \"%s\")", cType(name), ddsType(name))
	}
	g.print.WriteString("\n")
	dir := t.TempDir()
	for name, text := range map[string]string{"types.idl": g.idl.String(), "print_types.h": g.print.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	dds := filepath.Join(here, "..", "ros2dds")
	script := strings.NewReplacer("HERE", filepath.Join(here, "testdata", "peers"), "DDS", dds).Replace(`
idlc -l c types.idl
gcc -O1 -Wall -o dds_subscriber -I . -I DDS/testdata/peers HERE/dds_subscriber.c types.c -lddsc -lm
gcc -O1 -Wall -o dds_gateway -I DDS/internal/cyclone HERE/dds_gateway.c DDS/internal/cyclone/*.c -lddsc
`)
	cmd := exec.Command("/bin/sh", "-e", "-c", script)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "build the peers%s: %s", bridgetest.SetupHint(string(output)), output)
	return dir
}

// loopback keeps Cyclone DDS to the loopback interface.
const loopback = `CYCLONEDDS_URI=<CycloneDDS><Domain id="any"><General><Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>` +
	`<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>` +
	`<MaxAutoParticipantIndex>20</MaxAutoParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>`

// gateway hands messages on to DDS.
type gateway struct {
	t    *testing.T
	conn net.Conn
}

func startGateway(t *testing.T, program string, domain int) *gateway {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	p := bridgetest.StartProcess(t, bridgetest.Program(program, strconv.Itoa(domain), port).With(loopback))
	require.NoError(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(bridgetest.Patience)))
	conn, err := listener.Accept()
	require.NoError(t, err, "the gateway connects")
	t.Cleanup(func() { _ = conn.Close() })
	p.Expect(t, "ready")
	return &gateway{t, conn}
}

// write sends what the server took apart as CDR.
func (g *gateway) write(m peers.LGSVLMessage) {
	var frame []byte
	for _, part := range [][]byte{[]byte("rt" + m.Topic), []byte(ddsType(m.Type.Name)), m.Type.CDR(m.Value)} {
		frame = binary.LittleEndian.AppendUint32(frame, uint32(len(part)))
		frame = append(frame, part...)
	}
	_, err := g.conn.Write(frame)
	assert.NoError(g.t, err)
}

// Every type goes by the bridge's bytes through the server to a subscriber that others'
// code decodes for, and has the values that were published.
func TestCycloneDecodesWhatTheServerHandsOn(t *testing.T) {
	programs := build(t)
	domain := freeDomain(t)
	var arguments []string
	for _, p := range samples() {
		arguments = append(arguments, fmt.Sprintf("rt/test/%s=%s", p.name, ddsType(strings.Replace(message(t, p.sample).TypeName(), "/msg/", "/", 1))))
	}
	subscriber := bridgetest.StartProcess(t, bridgetest.Program(filepath.Join(programs, "dds_subscriber"),
		append([]string{strconv.Itoa(domain)}, arguments...)...).With(loopback))
	subscriber.Expect(t, "ready")
	out := startGateway(t, filepath.Join(programs, "dds_gateway"), domain)
	server := peers.NewLGSVL(peers.LGSVLConfig{Published: out.write})
	require.NoError(t, server.Start())
	t.Cleanup(server.Kill)
	b := open(t, server.Addr())
	connect(t, b)
	for _, p := range samples() {
		topic := "/test/" + p.name
		require.NoError(t, p.publish(t.Context(), b, topic))
		line := subscriber.Expect(t, `"rt`+topic+`"`)
		var got struct{ Value map[string]any }
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		assert.Equal(t, printed(map[string]any(treeOf(message(t, p.sample)))), any(got.Value), p.name)
	}
	assert.Empty(t, server.Log())
}

// printed is a value as the subscriber prints it, decoded from JSON: ros2dds's print.h.
func printed(v any) any {
	switch v := v.(type) {
	case peers.Value:
		return printed(map[string]any(v))
	case map[string]any:
		m := map[string]any{}
		for name, field := range v {
			m[name] = printed(field)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = printed(v[i])
		}
		return list
	case []byte:
		return map[string]any{"bytes": float64(len(v)), "hash": fmt.Sprintf("%016x", hash(v))}
	case float32:
		return number(float64(v))
	case float64:
		return number(v)
	case bool, string:
		return v
	default:
		n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			panic(err)
		}
		return n
	}
}

func number(f float64) any {
	if math.IsNaN(f) {
		return "nan"
	}
	if math.IsInf(f, 0) {
		return map[bool]string{true: "-inf", false: "inf"}[f < 0]
	}
	return f
}

// hash is print.h's: FNV-1a over words of eight bytes, then the bytes that are left.
func hash(p []byte) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for ; len(p) >= 8; p = p[8:] {
		h = (h ^ binary.LittleEndian.Uint64(p)) * prime
	}
	for _, b := range p {
		h = (h ^ uint64(b)) * prime
	}
	return h
}

// freeDomain returns the id of a DDS domain that no other test on the machine uses.
func freeDomain(t *testing.T) int {
	t.Helper()
	var config net.ListenConfig
	for id := 1; id <= 200; id++ {
		lock, err := config.Listen(t.Context(), "unix", fmt.Sprintf("@raybridge-dds-domain-%d", id))
		if err == nil {
			t.Cleanup(func() { assert.NoError(t, lock.Close()) })
			return id
		}
	}
	require.Fail(t, "no domain is free")
	return 0
}

// What becomes of a subscriber behind the server doesn't affect the bridge. All messages go to
// the server, and the subscriber has them all when it comes again or continues.
func TestCycloneIsKilledStalledAndComesAgain(t *testing.T) {
	programs, domain := build(t), freeDomain(t)
	start := func() *bridgetest.Process {
		p := bridgetest.StartProcess(t, bridgetest.Program(filepath.Join(programs, "dds_subscriber"),
			strconv.Itoa(domain), "rt/clock="+ddsType("rosgraph_msgs/Clock")).With(loopback))
		p.Expect(t, "ready")
		return p
	}
	subscriber := start()
	out := startGateway(t, filepath.Join(programs, "dds_gateway"), domain)
	server := peers.NewLGSVL(peers.LGSVLConfig{Published: out.write})
	require.NoError(t, server.Start())
	t.Cleanup(server.Kill)
	b := open(t, server.Addr()+"?messages=4096")
	connect(t, b)
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	sent := 0
	send := func(messages int) {
		for range messages {
			sent++
			require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: simtime.Stamp(int64(sent) * 1e9)}))
		}
		eventually(t, func() bool { return server.Received()["/clock"] == sent }, "the server has them all")
	}
	has := func(from int) { // in their order
		for n := from; n <= sent; n++ {
			subscriber.Expect(t, fmt.Sprintf(`"sec":%d,`, n))
		}
	}
	send(1)
	has(1)
	subscriber.Kill()
	send(100)
	subscriber = start()
	has(1)
	subscriber.Stall()
	send(100)
	subscriber.Resume()
	has(sent - 99)
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, sent, row.Messages)
	assert.Empty(t, row.Drops)
	assert.EqualValues(t, 1, b.Diagnosis().Connections)
	assert.Empty(t, server.Log())
}
