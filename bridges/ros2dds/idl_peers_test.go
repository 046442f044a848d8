//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
)

// generated are files that the peers are compiled from: the messages in IDL, by whose
// description both DDS implementations generate code of their own, and functions that
// print what that code has decoded, in C and in C++.
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
	"int32": "long", "uint32": "unsigned long", "float32": "float", "float64": "double", "string": "string",
}

// generate describes all types that the bridge carries and those they are made of.
func generate(t *testing.T) *generated {
	t.Helper()
	g := &generated{}
	g.idl.WriteString(discoveryIDL)
	var done []string
	for _, pub := range rossample.Standard() {
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
func (g *generated) add(t *testing.T, name string, done *[]string) {
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
