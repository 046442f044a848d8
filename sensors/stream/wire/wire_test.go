package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/stream/wire"
	"github.com/raybridge/raybridge/sensors/stream/wire/schema"
)

// update writes the vectors anew: go test ./sensors/stream/wire -update.
var update = flag.Bool("update", false, "write testdata/wire/stream anew")

const vectors = "../../../testdata/wire/stream"

var envelope = wire.Envelope{Type: wire.NewTypeID(20, 1), PublishNs: 1_234_567_890_123}

func TestVectors(t *testing.T) {
	needs64(t)
	all := filled()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			b, err := wire.Append(nil, envelope, all[name])
			require.NoError(t, err)
			path := filepath.Join(vectors, name+".bin")
			if *update {
				require.NoError(t, os.WriteFile(path, b, 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, want, b, "the layout has changed: it needs another schema version, and then -update")
			assert.Equal(t, len(b), wire.Size(all[name]))
			assert.Zero(t, len(b)%8)

			defer wire.SetNative(wire.SetNative(false))
			b, err = wire.Append(nil, envelope, all[name])
			require.NoError(t, err)
			assert.Equal(t, want, b, "on a machine of the other byte order")
		})
	}
	files, err := filepath.Glob(filepath.Join(vectors, "*.bin"))
	require.NoError(t, err)
	assert.Len(t, files, len(all), "a vector that nobody makes")
}

// needs64 skips a test of the vectors where they can't be made.
func needs64(t *testing.T) {
	t.Helper()
	if strconv.IntSize < 64 {
		t.Skip("the vectors have numbers that an int of this machine doesn't hold")
	}
}

func TestRoundTrips(t *testing.T) {
	for name, want := range filled() {
		t.Run(name, func(t *testing.T) {
			prefix := []byte("12345678")
			b, err := wire.Append(prefix, envelope, want)
			require.NoError(t, err)
			assert.Equal(t, "12345678", string(b[:8]))
			b = b[8:]
			m, err := wire.Open(b)
			require.NoError(t, err)
			got, err := wire.Decode(m)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, envelope.Type, m.Type())
			assert.Equal(t, 1, m.Type().Output())
			assert.EqualValues(t, 20, m.Type().Number())
			assert.Equal(t, envelope.PublishNs, m.PublishNs())
			assert.Equal(t, want.(interface{ Stamp() int64 }).Stamp(), m.CaptureNs())
			h, headed := want.(interface{ SampleHeader() *sample.Header })
			assert.Equal(t, headed, m.Headed())
			if headed {
				assert.Equal(t, *h.SampleHeader(), m.Header())
				assert.Equal(t, h.SampleHeader().FrameID, m.FrameID())
			}

			odd := append([]byte{0}, b...)[1:] // lists then lie where no number may
			checkDecodes(t, want, odd)
			defer wire.SetNative(wire.SetNative(false))
			checkDecodes(t, want, b)
		})
	}
}

func checkDecodes(t *testing.T, want any, b []byte) {
	t.Helper()
	m, err := wire.Open(b)
	require.NoError(t, err)
	got, err := wire.Decode(m)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// Every field of every sample is in its layout.
func TestLayoutsAreComplete(t *testing.T) {
	check := func(t *testing.T, typ reflect.Type, fields []schema.Field, headed bool) {
		var want, got []string
		for _, f := range reflect.VisibleFields(typ) {
			promoted := len(f.Index) > 1
			if f.Name == "Header" || headed && promoted || f.Name == "StampNs" && !promoted {
				continue
			}
			want = append(want, f.Name)
		}
		for _, f := range fields {
			got = append(got, f.Name)
		}
		assert.ElementsMatch(t, want, got, "%v", typ)
	}
	for _, m := range schema.Messages {
		check(t, m.Go, m.Fields, m.Headed)
	}
	for _, r := range schema.Records {
		check(t, r.Go, r.Fields, false)
	}
	kinds := map[uint16]string{}
	for _, m := range schema.Messages {
		assert.Empty(t, kinds[m.Kind], "kind %d", m.Kind)
		kinds[m.Kind] = m.Name
		assert.Equal(t, m.Name, wire.Kind(m.Kind).String())
		assert.Equal(t, m.Version, wire.Kind(m.Kind).Version())
	}
	assert.Equal(t, "kind(999)", wire.Kind(999).String())
}

func TestGeneratedFilesAreInStep(t *testing.T) {
	files, err := schema.Code()
	require.NoError(t, err)
	for name, source := range files {
		have, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(source), string(have), "run make generate")
	}
	page, err := os.ReadFile("../../../docs/stream-protocol.md")
	require.NoError(t, err)
	want, err := schema.Insert(page)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(page), "run make generate")
	_, err = schema.Insert(nil)
	assert.Error(t, err)
}

// byHand is a message that a person wrote from the tables of the document.
const byHand = `
	52424d53  01110000          magic "RBMS", type 17 output 1
	1100 0100 0100 0400         kind 17 Signals, version 1, flags: headed, frame id of 4 bytes
	0700000000000000            sequence 7
	2a00000000000000            frame 42
	00ca9a3b00000000            capture 1 s
	00943577 00000000           publish 2 s
	000000000000f03f 0000000000000040 000000000000f0bf                   position 1, 2, -1
	0000000000000000 0000000000000000 000000000000f03f 0000000000000000  orientation x, y, z, w: half a turn about z
	e800000000000000            body of 232 bytes
	6c616d70 00000000           frame id "lamp", padded

	02000000 09000000           2 signals, 9 bytes of text
	05000000 02 000000          id 5, green
	00000000 05000000           label: 5 bytes of text at 0
	0000803f 00000000           score 1, padding
	000000000000e03f 0000000000000000 0000000000000000                   position 0.5, 0, 0
	0000000000000000 0000000000000000 0000000000000000 000000000000f03f  orientation: none
	000000000000f03f 000000000000f03f 0000000000000040                   size 1, 1, 2
	06000000 04 000000          id 6, unknown
	05000000 04000000           label: 4 bytes of text at 5
	0000003f 00000000           score 0.5, padding
	0000000000000000 0000000000000000 0000000000000000
	0000000000000000 0000000000000000 0000000000000000 000000000000f03f
	0000000000000000 0000000000000000 0000000000000000
	677265656e 736f6d65 00000000000000   text "green", "some", padding to 16
`

func TestMessageWrittenByHand(t *testing.T) {
	word := regexp.MustCompile(`^[0-9a-f]+$`)
	var text strings.Builder
	for line := range strings.Lines(byHand) {
		for _, w := range strings.Fields(line) {
			if !word.MatchString(w) || len(w)%2 == 1 {
				break
			}
			text.WriteString(w)
		}
	}
	b, err := hex.DecodeString(text.String())
	require.NoError(t, err)
	v, err := wire.OpenSignals(b)
	require.NoError(t, err)
	assert.Equal(t, "lamp", v.FrameID())
	assert.EqualValues(t, []uint64{7, 42}, []uint64{v.Sequence(), v.Frame()})
	assert.EqualValues(t, []int64{1e9, 2e9}, []int64{v.CaptureNs(), v.PublishNs()})
	assert.Equal(t, 2.0, v.Pose().Position[1])
	assert.Equal(t, 1.0, v.Pose().Orientation.V[2])
	require.Equal(t, 2, v.Signals().Len())
	var labels []string
	for i, s := range v.Signals().All() {
		assert.EqualValues(t, 5+i, s.ID())
		labels = append(labels, s.Label())
	}
	assert.Equal(t, []string{"green", "some"}, labels)
	s := v.Signals().At(0)
	assert.Equal(t, sample.SignalGreen, s.State())
	assert.Equal(t, float32(1), s.Score())
	assert.Equal(t, 0.5, s.Pose().Position[0])
	assert.Equal(t, 1.0, s.Pose().Orientation.W)
	assert.Equal(t, 2.0, s.Size()[2])

	var m sample.Signals
	v.CopyTo(&m)
	again, err := wire.Append(nil, wire.Envelope{Type: wire.NewTypeID(17, 1), PublishNs: 2e9}, &m)
	require.NoError(t, err)
	assert.Equal(t, hex.Dump(b), hex.Dump(again), "the serializer writes the same")
}

func TestDataObjectsReadFromTheReceivedBytes(t *testing.T) {
	all := filled()
	b, err := wire.Append(nil, envelope, all["Image"])
	require.NoError(t, err)
	image, err := wire.OpenImage(b)
	require.NoError(t, err)
	image.Data()[0] = 99
	assert.Contains(t, string(b), string(image.Data()), "it is those bytes")

	b, err = wire.Append(nil, envelope, all["PointCloud"])
	require.NoError(t, err)
	cloud, err := wire.OpenPointCloud(b)
	require.NoError(t, err)
	at := bytes.Index(b, binary.LittleEndian.AppendUint32(nil, cloud.Points()[1].Ray))
	require.Positive(t, at)
	b[at] ^= 0xff
	assert.Equal(t, binary.LittleEndian.Uint32(b[at:]), cloud.Points()[1].Ray)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		v, err := wire.OpenPointCloud(b)
		if err != nil || len(v.Points()) != 3 {
			t.Fatal(err)
		}
	}))
	assert.Panics(t, func() { signals(t).Signals().At(3) })
	assert.Zero(t, wire.List[int]{}.Len())
}

func signals(t *testing.T) wire.SignalsView {
	b, err := wire.Append(nil, envelope, filled()["Signals"])
	require.NoError(t, err)
	v, err := wire.OpenSignals(b)
	require.NoError(t, err)
	return v
}

// Every message that is cut anywhere, or has a length that isn't true, is refused.
func TestMalformedMessagesAreRefused(t *testing.T) {
	for name, msg := range filled() {
		t.Run(name, func(t *testing.T) {
			b, err := wire.Append(nil, envelope, msg)
			require.NoError(t, err)
			for n := range b {
				_, err := wire.Open(b[:n])
				require.ErrorIs(t, err, wire.ErrTruncated, "%d bytes", n)
			}
			_, err = wire.Open(append(bytes.Clone(b), 0))
			require.ErrorIs(t, err, wire.ErrSize)
			body := len(b) - len(must(wire.Open(b)).Body())
			for n := body; n < len(b); n++ { // a shorter body whose header agrees
				short := bytes.Clone(b[:n])
				binary.LittleEndian.PutUint64(short[104:], uint64(n-body))
				_, err := wire.Decode(must(wire.Open(short)))
				require.ErrorIs(t, err, wire.ErrTruncated, "body of %d bytes", n-body)
			}
			long := append(bytes.Clone(b), make([]byte, 8)...)
			binary.LittleEndian.PutUint64(long[104:], uint64(len(b)-body+8))
			_, err = wire.Decode(must(wire.Open(long)))
			require.ErrorIs(t, err, wire.ErrSize)

			wrong := bytes.Clone(b)
			wrong[10] = 77
			_, err = wire.Decode(must(wire.Open(wrong)))
			require.ErrorIs(t, err, wire.ErrSchema)
			wrong[8], wrong[9] = 0xff, 0xff
			_, err = wire.Decode(must(wire.Open(wrong)))
			require.ErrorIs(t, err, wire.ErrKind)
			wrong[0] = 'X'
			_, err = wire.Open(wrong)
			require.ErrorIs(t, err, wire.ErrMagic)
		})
	}
	_, err := wire.OpenImage(must(wire.Append(nil, envelope, &sample.Speed{})))
	require.ErrorIs(t, err, wire.ErrKind)
	_, err = wire.AsImage(wire.Message{})
	require.ErrorIs(t, err, wire.ErrTruncated)
}

// A count that claims the most there can be neither panics nor allocates.
func TestClaimedLengthsAllocateNothing(t *testing.T) {
	for _, m := range schema.Messages {
		b, err := wire.Append(nil, envelope, filled()[m.Name])
		require.NoError(t, err)
		body := len(b) - len(must(wire.Open(b)).Body())
		places, textAt, _ := m.Layout()
		if textAt >= 0 {
			places = append(places, schema.Place{Field: schema.Field{Name: "text", Type: schema.String}, Offset: textAt})
		}
		for _, p := range places {
			if !p.Variable() {
				continue
			}
			for _, count := range []uint32{0xffffffff, 0x80000000, 0x7fffffff, 1 << 24} {
				wrong := bytes.Clone(b)
				binary.LittleEndian.PutUint32(wrong[body+p.Offset:], count)
				_, err := wire.Decode(must(wire.Open(wrong)))
				assert.ErrorIs(t, err, wire.ErrTruncated, "%s.%s", m.Name, p.Name)
			}
		}
	}
	v := signals(t)
	wrong := bytes.Clone(v.Bytes())
	place := len(wrong) - len(v.Body()) + 8 + 8 // the first label's
	for _, word := range []int{place, place + 4} {
		damaged := bytes.Clone(wrong)
		binary.LittleEndian.PutUint32(damaged[word:], 0xfffffff0)
		_, err := wire.OpenSignals(damaged)
		assert.ErrorIs(t, err, wire.ErrSize, "a string outside the text")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// comfort is a message type from outside.
type comfort struct {
	sample.Header
	jerk float64
	fail error
}

func (c *comfort) SchemaVersion() uint16 { return 3 }

func (c *comfort) AppendBinary(b []byte) ([]byte, error) {
	if c.fail != nil {
		return nil, c.fail
	}
	return binary.LittleEndian.AppendUint64(b, uint64(c.jerk)), nil
}

// bare has no header.
type bare struct{}

func (bare) SchemaVersion() uint16                 { return 1 }
func (bare) Stamp() int64                          { return 77 }
func (bare) AppendBinary(b []byte) ([]byte, error) { return append(b, "body"...), nil }

func TestTypesFromOutside(t *testing.T) {
	c := &comfort{Header: sample.Header{StampNs: 5, Seq: 6, FrameID: "seat"}, jerk: 8}
	b, err := wire.Append([]byte("x"), envelope, c)
	require.NoError(t, err)
	m, err := wire.Open(b[1:])
	require.NoError(t, err)
	assert.Equal(t, wire.KindForeign, m.Kind())
	assert.EqualValues(t, 3, m.SchemaVersion())
	assert.Equal(t, c.Header, m.Header())
	assert.Equal(t, []byte{8, 0, 0, 0, 0, 0, 0, 0}, m.Body())
	assert.Equal(t, len(b)-1-8, wire.Size(c), "without the body, whose length nobody knows")
	_, err = wire.Decode(m)
	assert.ErrorIs(t, err, wire.ErrKind)

	b, err = wire.Append(nil, envelope, bare{})
	require.NoError(t, err)
	m = must(wire.Open(b))
	assert.False(t, m.Headed())
	assert.EqualValues(t, 77, m.CaptureNs())
	assert.Equal(t, "body", string(m.Body()))

	c.fail = errors.New("no seat")
	b, err = wire.Append([]byte("x"), envelope, c)
	assert.ErrorIs(t, err, c.fail)
	assert.Equal(t, "x", string(b), "as it was")
}

func TestWhatCantBeSerialized(t *testing.T) {
	type unknown struct{}
	b, err := wire.Append([]byte("x"), envelope, &unknown{})
	assert.ErrorIs(t, err, wire.ErrUnknownType)
	assert.Equal(t, "x", string(b))
	assert.Zero(t, wire.Size(&unknown{}))
	cases := map[string]any{
		"negative width": &sample.Image{Width: -1},
		"frame id":       &sample.Speed{Header: sample.Header{FrameID: strings.Repeat("x", 1<<16)}},
		"data":           &sample.CompressedImage{Data: make([]byte, wire.MaxSize)},
	}
	if wide := math.MaxInt; strconv.IntSize == 64 {
		cases["wide"] = &sample.Image{Height: wide}
	}
	for name, msg := range cases {
		b, err := wire.Append([]byte("x"), envelope, msg)
		assert.ErrorIs(t, err, wire.ErrSize, name)
		assert.Equal(t, "x", string(b), name)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for name, msg := range filled() {
		b := make([]byte, 0, wire.Size(msg))
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			if _, err := wire.Append(b, envelope, msg); err != nil {
				t.Fatal(err)
			}
		}), name)
	}
	var cloud sample.PointCloud
	v := must(wire.OpenPointCloud(must(wire.Append(nil, envelope, filled()["PointCloud"]))))
	assert.Zero(t, testing.AllocsPerRun(10, func() { v.CopyTo(&cloud) }), "the second time")
}

// filled returns a sample of each kind with a different value in every field, by
// name, and one with empty strings and lists.
func filled() map[string]any {
	all := map[string]any{}
	for _, m := range schema.Messages {
		f := filler{rng: rand.New(rand.NewPCG(uint64(m.Kind), 7))}
		v := reflect.New(m.Go)
		f.fill(v.Elem(), 3)
		all[m.Name] = v.Interface()
		f.bare = true
		v = reflect.New(m.Go)
		f.fill(v.Elem(), 0)
		all[m.Name+"_empty"] = v.Interface()
	}
	return all
}

// filler sets values that are exact in every encoding.
type filler struct {
	rng  *rand.Rand
	bare bool
	n    int
}

func (f *filler) fill(v reflect.Value, length int) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), length)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), length)
		}
	case reflect.Slice:
		if length == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		for i := range length {
			f.fill(v.Index(i), i) // lists within would differ in length
		}
	case reflect.String:
		if !f.bare {
			v.SetString(fmt.Sprintf("ü%d", f.n)) // 3 bytes and more, never a multiple for all
		}
	case reflect.Bool:
		v.SetBool(f.n%2 == 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.rng.IntN(1<<20)-1<<19) / 64)
	case reflect.Int, reflect.Uint32:
		if n := f.rng.Uint32(); v.CanInt() {
			v.SetInt(int64(uint64(n) & math.MaxInt)) // the same but where an int has 32 bits
		} else {
			v.SetUint(uint64(n))
		}
	case reflect.Int8:
		v.SetInt(int64(f.rng.IntN(256) - 128))
	case reflect.Int32:
		v.SetInt(int64(int32(f.rng.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(f.rng.Uint64()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(f.rng.Uint64() >> (64 - v.Type().Bits()))
	default:
		panic(fmt.Sprintf("no value for %v", v.Type()))
	}
}

// FuzzDecode opens and decodes anything as the kind that it says it is. What can be
// decoded comes to the same sample again after it was serialized.
func FuzzDecode(f *testing.F) {
	for _, msg := range filled() {
		b, err := wire.Append(nil, envelope, msg)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Open(b)
		if err != nil {
			return
		}
		first, err := wire.Decode(m)
		if err != nil {
			return
		}
		e := wire.Envelope{Type: m.Type(), PublishNs: m.PublishNs()}
		again, err := wire.Append(nil, e, first)
		require.NoError(t, err)
		second, err := wire.Decode(must(wire.Open(again)))
		require.NoError(t, err)
		third, err := wire.Append(nil, e, second)
		require.NoError(t, err)
		require.Equal(t, again, third) // bytes, since NaN isn't equal to itself
	})
}
