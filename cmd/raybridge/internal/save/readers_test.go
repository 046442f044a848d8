package save_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cloud is what a reader finds in a file: the values of each point by field.
type cloud struct {
	fields        []string
	width, height int
	viewpoint     []string
	points        []map[string]float64
}

// readPCD reads what the PCL's documentation calls a PCD file, as strictly as its
// reader: the header's entries in their order.
func readPCD(t *testing.T, data []byte) *cloud {
	t.Helper()
	entries := map[string][]string{}
	var order []string
	for {
		line, rest, ok := bytes.Cut(data, []byte("\n"))
		require.True(t, ok, "the header ends")
		data = rest
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		entries[words[0]] = words[1:]
		order = append(order, words[0])
		if words[0] == "DATA" {
			break
		}
	}
	require.Equal(t, []string{"VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA"}, order)
	require.Equal(t, []string{"0.7"}, entries["VERSION"])
	require.Equal(t, []string{"binary"}, entries["DATA"])
	require.Len(t, entries["VIEWPOINT"], 7)
	c := &cloud{fields: entries["FIELDS"], viewpoint: entries["VIEWPOINT"], width: number(t, entries["WIDTH"]), height: number(t, entries["HEIGHT"])}
	require.Equal(t, c.width*c.height, number(t, entries["POINTS"]))
	var types []string
	for i := range c.fields {
		require.Equal(t, "1", entries["COUNT"][i])
		types = append(types, entries["TYPE"][i]+entries["SIZE"][i])
	}
	c.read(t, data, types)
	return c
}

// readPLY reads a binary PLY file of vertices.
func readPLY(t *testing.T, data []byte) *cloud {
	t.Helper()
	head, body, ok := bytes.Cut(data, []byte("end_header\n"))
	require.True(t, ok)
	lines := strings.Split(strings.TrimSuffix(string(head), "\n"), "\n")
	require.Equal(t, []string{"ply", "format binary_little_endian 1.0"}, lines[:2])
	c := &cloud{height: 1}
	var types []string
	for _, line := range lines[2:] {
		words := strings.Fields(line)
		switch words[0] {
		case "comment":
		case "element":
			require.Equal(t, "vertex", words[1])
			c.width = number(t, words[2:])
		case "property":
			types = append(types, map[string]string{"float": "F4", "uchar": "U1", "ushort": "U2", "uint": "U4"}[words[1]])
			c.fields = append(c.fields, words[2])
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	c.read(t, body, types)
	return c
}

func number(t *testing.T, words []string) int {
	t.Helper()
	require.Len(t, words, 1)
	n, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	return n
}

func (c *cloud) read(t *testing.T, data []byte, types []string) {
	t.Helper()
	r := bytes.NewReader(data)
	for range c.width * c.height {
		point := map[string]float64{}
		for i, name := range c.fields {
			var value any
			switch types[i] {
			case "F4":
				value = new(float32)
			case "U1":
				value = new(uint8)
			case "U2":
				value = new(uint16)
			case "U4":
				value = new(uint32)
			default:
				t.Fatalf("type %s", types[i])
			}
			require.NoError(t, binary.Read(r, binary.LittleEndian, value))
			point[name] = value64(value)
		}
		c.points = append(c.points, point)
	}
	require.Zero(t, r.Len(), "nothing follows the points")
}

func value64(value any) float64 {
	switch v := value.(type) {
	case *float32:
		return float64(*v)
	case *uint8:
		return float64(*v)
	case *uint16:
		return float64(*v)
	case *uint32:
		return float64(*v)
	}
	panic(fmt.Sprintf("%T", value))
}

// column returns a field of all points.
func (c *cloud) column(name string) []float64 {
	var list []float64
	for _, p := range c.points {
		v, ok := p[name]
		if !ok {
			v = math.NaN()
		}
		list = append(list, v)
	}
	return list
}
