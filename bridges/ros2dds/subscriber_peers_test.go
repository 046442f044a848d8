//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cyclonePeer returns the program testdata/peers/cyclone_peer.c, built with Debian's
// Cyclone DDS.
func cyclonePeer(t testing.TB) string {
	t.Helper()
	return build(t, "cyclone_peer", map[string]string{"cyclone_peer.c": "", "print.h": ""}, func(g *generated) map[string]string {
		return map[string]string{"ros2.idl": g.idl.String(), "types_c.h": g.c.String()}
	}, `idlc -l c ros2.idl && gcc -O2 -Wall -o cyclone_peer cyclone_peer.c ros2.c -lddsc -lm`)
}

// fastPeer returns the program testdata/peers/fast_peer.cpp, built with Debian's Fast DDS
// without type objects, which Cyclone DDS 0.10 can't read.
func fastPeer(t testing.TB) string {
	t.Helper()
	return build(t, "fast_peer", map[string]string{"fast_peer.cpp": "", "print.h": ""}, func(g *generated) map[string]string {
		return map[string]string{"ros2.idl": g.idl.String(), "types_cpp.h": g.cpp.String()}
	}, `fastddsgen -replace ros2.idl && g++ -O1 -std=c++14 -w -o fast_peer fast_peer.cpp ros2.cxx ros2PubSubTypes.cxx -lfastrtps -lfastcdr -lpthread`)
}

// build makes a program of sources in testdata/peers and of generated files by a shell script.
// The folder is named by the hash of all of them, so the program is made once.
func build(t testing.TB, name string, sources map[string]string, more func(*generated) map[string]string, script string) string {
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
	dir := filepath.Join(bridgetest.PeerPackages(), "ros2dds", name+"-"+hex.EncodeToString(sum.Sum(nil))[:16])
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
	require.NoError(t, err, "build %s%s: %s", name, bridgetest.SetupHint(string(output)), strings.TrimSpace(string(output)))
	if err := os.Rename(work, dir); err != nil { // another test may have been first
		require.FileExists(t, program)
	}
	return program
}

// peerSettings are the Cyclone peers' besides: what the bridge sets in its code, and
// room for bursts of small messages.
const peerSettings = loopback + `,<CycloneDDS><Domain id="any"><General><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize></General>` +
	`<Internal><SocketReceiveBufferSize max="8MiB"/><SocketSendBufferSize max="8MiB"/><DeliveryQueueMaxSamples>100000</DeliveryQueueMaxSamples></Internal></Domain></CycloneDDS>`

// event is a line that a peer prints.
type event struct {
	Event          string          `json:"event"`
	Topic          string          `json:"topic"`
	Type           string          `json:"type"`
	GUID           string          `json:"guid"`
	UserData       string          `json:"user_data"`
	Reliable       bool            `json:"reliable"`
	TransientLocal bool            `json:"transient_local"`
	DeadlineNs     int64           `json:"deadline_ns"`
	AtNs           int64           `json:"at_ns"`
	Policy         int             `json:"policy"`
	N              int             `json:"n"`
	Value          json.RawMessage `json:"value"`
}

// subscriber is a peer that reads every topic there is, or writes as it is told.
type subscriber struct {
	t       testing.TB
	process *bridgetest.Process

	mu            sync.Mutex
	read          int             // guarded by mu: how much of the output was parsed
	events        []event         // guarded by mu
	matched       map[string]bool // guarded by mu: by DDS topic
	received      map[string]int  // guarded by mu
	subscriptions map[string]int  // guarded by mu: how many read what it writes
}

// cycloneSubscriber starts the Cyclone peer; mode is "subscribe" or "count", or "obey" and a
// port.
func cycloneSubscriber(t testing.TB, domain int, mode ...string) *subscriber {
	t.Helper()
	return start(t, bridgetest.Program(cyclonePeer(t), append([]string{strconv.Itoa(domain)}, mode...)...).With("CYCLONEDDS_URI="+peerSettings))
}

// fastSubscriber starts the Fast DDS peer.
func fastSubscriber(t testing.TB, domain int, mode ...string) *subscriber {
	t.Helper()
	return start(t, bridgetest.Program(fastPeer(t), append([]string{strconv.Itoa(domain)}, mode...)...))
}

func start(t testing.TB, c bridgetest.Command) *subscriber {
	t.Helper()
	s := &subscriber{t: t, process: bridgetest.StartProcess(t, c), matched: map[string]bool{}, received: map[string]int{}, subscriptions: map[string]int{}}
	s.process.Expect(t, `"ready"`)
	return s
}

// poll parses what was printed since.
func (s *subscriber) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	output := s.process.Output()
	rest := output[s.read:]
	end := strings.LastIndexByte(rest, '\n') + 1
	s.read += end
	for line := range strings.Lines(rest[:end]) {
		var e event
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if !assert.NoError(s.t, json.Unmarshal([]byte(line), &e), line) {
			continue
		}
		s.events = append(s.events, e)
		switch e.Event {
		case "matched":
			s.matched[e.Topic] = true
		case "unmatched":
			s.matched[e.Topic] = false
		case "message":
			s.received[e.Topic]++
		case "subscriptions":
			s.subscriptions[e.Topic] = e.N
		}
	}
}

// ready reports whether the peer has found the writer of a ROS topic.
func (s *subscriber) ready(topic string) bool {
	s.poll()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.matched["rt"+topic]
}

// count returns how many messages of a ROS topic have arrived.
func (s *subscriber) count(topic string) int {
	s.poll()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received["rt"+topic]
}

// find returns the events that accept takes.
func (s *subscriber) find(accept func(event) bool) []event {
	s.poll()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []event
	for _, e := range s.events {
		if accept(e) {
			list = append(list, e)
		}
	}
	return list
}

// await waits for an event and returns the last one.
func (s *subscriber) await(what string, accept func(event) bool) event {
	s.t.Helper()
	var found []event
	require.Eventually(s.t, func() bool {
		found = s.find(accept)
		return len(found) > 0
	}, patience, 5*time.Millisecond, "%s", what)
	return found[len(found)-1]
}

// generated are files that the peers are compiled from. They are the messages in IDL, by whose
// description both DDS implementations generate code of their own. Functions in C and in C++
// print what that code has decoded.
type generated struct{ idl, c, cpp strings.Builder }

// discoveryIDL is rmw_dds_common's, of which package ros has no definition.
const discoveryIDL = `
module rmw_dds_common { module msg { module dds_ {
  @final struct Gid_ { octet m_data[16]; };
  @final struct NodeEntitiesInfo_ {
    string<256> m_node_namespace; string<256> m_node_name;
    sequence<rmw_dds_common::msg::dds_::Gid_> m_reader_gid_seq; sequence<rmw_dds_common::msg::dds_::Gid_> m_writer_gid_seq;
  };
  @final struct ParticipantEntitiesInfo_ {
    rmw_dds_common::msg::dds_::Gid_ m_gid;
    sequence<rmw_dds_common::msg::dds_::NodeEntitiesInfo_> m_node_entities_info_seq;
  };
}; }; };
`

// idlTypes are the primitives' names in IDL (design.ros2.org, "ROS 2 interfaces to IDL").
var idlTypes = map[string]string{
	"bool": "boolean", "int8": "int8", "uint8": "octet", "byte": "octet", "char": "octet", "int16": "short", "uint16": "unsigned short",
	"int32": "long", "uint32": "unsigned long", "int64": "long long", "uint64": "unsigned long long", "float32": "float", "float64": "double", "string": "string",
}

// carried are the messages that the bridge publishes: the standard ones, and mirrors of the
// samples that these don't carry.
func carried() []ros.Publication {
	all := rossample.Standard()
	for _, pub := range rossample.Whole() {
		if !slices.ContainsFunc(all, func(p ros.Publication) bool { return p.Sample == pub.Sample }) {
			all = append(all, pub)
		}
	}
	return all
}

// generate describes all types that the bridge carries and those they are made of.
func generate(t testing.TB) *generated {
	t.Helper()
	g := &generated{}
	g.idl.WriteString(discoveryIDL)
	var done []string
	for _, pub := range carried() {
		if pub.Declare != nil {
			require.NoError(t, pub.Declare())
		}
		g.add(t, pub.Type, &done)
	}
	for _, sub := range rossample.StandardSubscriptions() {
		g.add(t, sub.Type, &done)
	}
	g.c.WriteString("#define TYPES(T)")
	for _, name := range done {
		fmt.Fprintf(&g.c, " \\\n  T(%s, \"%s\")", cName(name), ddsName(name))
	}
	g.c.WriteString("\n")
	g.cpp.WriteString("#define TYPES(T)")
	for _, name := range done {
		fmt.Fprintf(&g.cpp, " \\\n  T(%s, %sPubSubType)", ddsName(name), ddsName(name))
	}
	g.cpp.WriteString("\n")
	return g
}

// The names of a message type on the wire, and in the C code that idlc generates.
func ddsName(name string) string {
	return regexp.MustCompile(`^(\w+)/msg/(\w+)$`).ReplaceAllString(name, "$1::msg::dds_::${2}_")
}

func cName(name string) string { return strings.ReplaceAll(ddsName(name), "::", "_") }

// add adds a type after those it is made of.
func (g *generated) add(t testing.TB, name string, done *[]string) {
	t.Helper()
	if slices.Contains(*done, name) {
		return
	}
	fields, err := ros.Fields(name)
	require.NoError(t, err)
	for _, f := range fields {
		if f.Message {
			g.add(t, f.Type, done)
		}
	}
	*done = append(*done, name)
	parts := strings.Split(ddsName(name), "::")
	fmt.Fprintf(&g.idl, "module %s { module msg { module dds_ { @final struct %s {\n", parts[0], parts[3])
	fmt.Fprintf(&g.c, "static void print_%s(FILE *f, const %s *m) {\n  (void)m; const char *sep = \"{\";\n", cName(name), cName(name))
	fmt.Fprintf(&g.cpp, "static void print(FILE *f, const %s &m) {\n  (void)m; const char *sep = \"{\";\n", ddsName(name))
	for _, f := range fields {
		g.field(f)
	}
	g.idl.WriteString("}; }; }; };\n")
	g.c.WriteString("  fputs(*sep == '{' ? \"{}\" : \"}\", f);\n}\n")
	g.cpp.WriteString("  fputs(*sep == '{' ? \"{}\" : \"}\", f);\n}\n")
}

func (g *generated) field(f ros.Field) {
	element, printC, printCPP := idlTypes[f.Type], "print_"+strings.ReplaceAll(idlTypes[f.Type], " ", "_"), "print_"+f.Type
	reference := ""
	if f.Message {
		element, printC, printCPP, reference = ddsName(f.Type), "print_"+cName(f.Type), "print", "&"
	}
	declared, length := element, ""
	member, size := "m_"+f.Name, strings.Trim(f.Array, "[]")
	switch {
	case f.Array == "[]":
		declared, length = "sequence<"+element+">", "m->"+member+"._length"
	case f.Array != "":
		length = size
	}
	suffix := ""
	if size != "" {
		suffix = "[" + size + "]"
	}
	fmt.Fprintf(&g.idl, "  %s %s%s;\n", declared, member, suffix)
	for _, b := range []*strings.Builder{&g.c, &g.cpp} {
		fmt.Fprintf(b, "  fprintf(f, \"%%s\\\"%s\\\":\", sep); sep = \",\";\n", f.Name)
	}
	switch {
	case f.Array == "":
		fmt.Fprintf(&g.c, "  %s(f, %sm->%s);\n", printC, reference, member)
		fmt.Fprintf(&g.cpp, "  %s(f, m.%s());\n", printCPP, member)
	case f.Array == "[]" && f.Type == "uint8":
		fmt.Fprintf(&g.c, "  print_bytes(f, m->%s._buffer, m->%s._length);\n", member, member)
		fmt.Fprintf(&g.cpp, "  print_bytes(f, m.%s().data(), m.%s().size());\n", member, member)
	default:
		items := "m->" + member
		if f.Array == "[]" {
			items += "._buffer"
		}
		fmt.Fprintf(&g.c, "  fputc('[', f); for (uint32_t i = 0; i < %s; i++) { if (i) fputc(',', f); %s(f, %s%s[i]); } fputc(']', f);\n", length, printC, reference, items)
		fmt.Fprintf(&g.cpp, "  fputc('[', f); { bool first = true; for (const auto &e : m.%s()) { if (!first) fputc(',', f); first = false; %s(f, e); } } fputc(']', f);\n", member, printCPP)
	}
}

// valueOf is a message as the peers print it, decoded from JSON: see testdata/peers/print.h.
func valueOf(m ros.Message) map[string]any {
	return bridgetest.Form{
		Bytes: func(data []byte) any {
			return map[string]any{"bytes": float64(len(data)), "hash": fmt.Sprintf("%016x", hashOctets(data))}
		},
		Number: number,
	}.Tree(m)
}

func number(f float64, _ int) any {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return fmt.Sprintf("%sinf", map[bool]string{true: "-"}[f < 0])
	}
	return f
}

// hashOctets is print.h's.
func hashOctets(p []byte) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for ; len(p) >= 8; p = p[8:] {
		h = (h ^ binary.NativeEndian.Uint64(p)) * prime
	}
	for _, b := range p {
		h = (h ^ uint64(b)) * prime
	}
	return h
}
