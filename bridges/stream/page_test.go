package stream_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// gallery serves pages, whose token is "secret".
type gallery struct {
	bridge *bridges.Bridge
	port   *stream.PagePort
	memory *memory.Budget
	url    string
	speed  bridges.Publisher[*sample.Speed]
	image  bridges.Publisher[*sample.Image]
	cloud  bridges.Publisher[*sample.PointCloud]
}

// openGallery has the topics /speed, /image and /cloud.
func openGallery(t testing.TB) *gallery {
	t.Helper()
	noGoroutines(t)
	g := &gallery{memory: memory.New(1 << 30)}
	var port *stream.PagePort
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			port.Serve(conn, r)
		}
	}))
	admit := func(token string) error {
		if token != "secret" {
			return errors.New("it is another token")
		}
		return nil
	}
	port = stream.NewPagePort(server.Listener.Addr(), admit, g.memory)
	g.port = port
	g.url = "ws" + strings.TrimPrefix(server.URL, "http") + stream.PagePath
	registry, err := bridges.NewRegistry(port)
	require.NoError(t, err)
	g.bridge, err = registry.Open(stream.PageName+":", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, g.bridge.Connect(t.Context()))
	g.speed = published[*sample.Speed](t, g, bridges.Topic{Name: "/speed"})
	g.image = published[*sample.Image](t, g, bridges.Topic{Name: "/image", Sensor: "front", SensorType: "sensor.camera.rgb"})
	g.cloud = published[*sample.PointCloud](t, g, bridges.Topic{Name: "/cloud"})
	t.Cleanup(func() {
		server.Close()
		assert.NoError(t, g.bridge.Close(context.Background()))
		assert.Zero(t, g.memory.Held(), "all memory is given back")
	})
	return g
}

func published[T any](t testing.TB, g *gallery, topic bridges.Topic) bridges.Publisher[T] {
	t.Helper()
	p, err := bridges.AddPublisher[T](g.bridge, topic)
	require.NoError(t, err)
	return p
}

// page is a viewer without a browser.
type page struct {
	t       testing.TB
	conn    *websocket.Conn
	streams map[uint16]stream.Info
	early   [][]byte // messages of streams that came before an answer
	losses  string   // the last that it was told of, of control 4
}

// dial connects without a word.
func (g *gallery) dial(t testing.TB) *page {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), g.url, nil) //nolint:bodyclose // it is the connection
	require.NoError(t, err)
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &page{t: t, conn: conn}
}

// open connects a page that is welcome.
func (g *gallery) open(t testing.TB) *page {
	t.Helper()
	p := g.dial(t)
	p.say(`{"token": "secret", "version": 1}`)
	control, payload := p.control()
	require.Zero(t, control)
	var err error
	p.streams, err = stream.ReadPageWelcome(payload)
	require.NoError(t, err)
	return p
}

func (p *page) say(text string) {
	p.t.Helper()
	require.NoError(p.t, p.conn.Write(p.t.Context(), websocket.MessageText, []byte(text)))
}

// read returns the next message of the server's that isn't a sign of life.
func (p *page) read() (kind websocket.MessageType, message []byte, err error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	for {
		kind, message, err = p.conn.Read(ctx)
		if err != nil || kind == websocket.MessageText || message[3] != 1 {
			return kind, message, err
		}
	}
}

// control reads the next control message. Messages of streams that come before it are kept for data.
func (p *page) control() (control byte, payload []byte) {
	p.t.Helper()
	for {
		kind, message, err := p.read()
		require.NoError(p.t, err)
		require.Equal(p.t, websocket.MessageBinary, kind, "%s", message)
		if binary.LittleEndian.Uint16(message) == 0 {
			return message[3], message[8:]
		}
		p.early = append(p.early, message)
	}
}

// binary reads the next message that isn't a text.
func (p *page) binary() []byte {
	p.t.Helper()
	if len(p.early) > 0 {
		message := p.early[0]
		p.early = p.early[1:]
		return message
	}
	kind, message, err := p.read()
	require.NoError(p.t, err)
	require.Equal(p.t, websocket.MessageBinary, kind, "%s", message)
	return message
}

// data reads a message of a stream, and keeps what is told of losses.
func (p *page) data() (name string, number uint32, d *stream.Data) {
	p.t.Helper()
	for {
		message := p.binary()
		id := binary.LittleEndian.Uint16(message)
		if id == 0 && message[3] == 4 {
			p.losses = string(message[8:])
			continue
		}
		require.Contains(p.t, p.streams, id, "control %d", message[3])
		info := p.streams[id]
		d, err := stream.Open(&info, message[8:])
		require.NoError(p.t, err)
		return info.Name, binary.LittleEndian.Uint32(message[4:]), d
	}
}

// told reads a text.
func (p *page) told() (text string) {
	p.t.Helper()
	for {
		kind, message, err := p.read()
		require.NoError(p.t, err)
		if kind == websocket.MessageText {
			return string(message)
		}
	}
}

// id returns the id of a stream.
func (p *page) id(name string) uint16 {
	p.t.Helper()
	for id, info := range p.streams {
		if info.Name == name {
			return id
		}
	}
	require.Fail(p.t, "no stream "+name)
	return 0
}

// subscribe waits until the page is subscribed.
func (p *page) subscribe(name string) {
	p.t.Helper()
	p.say(fmt.Sprintf(`{"subscribe": %q}`, name))
	control, payload := p.control()
	require.Equal(p.t, byte(3), control)
	require.Equal(p.t, answerTo(6, 0, name, ""), string(payload))
}

// credit says that a message was drawn.
func (p *page) credit(name string) {
	p.t.Helper()
	p.say(fmt.Sprintf(`{"credit": {"stream": %d, "n": 1}}`, p.id(name)))
}

// answerTo is the payload of an answer.
func answerTo(request byte, status uint16, name, reason string) string {
	b := binary.LittleEndian.AppendUint16([]byte{request}, status)
	for _, text := range []string{name, reason} {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
	}
	return string(b)
}

// A page that isn't welcome is told why as its connection is closed.
func TestPagesThatArentWelcome(t *testing.T) {
	g := openGallery(t)
	for say, reason := range map[string]string{
		`{"token": "guess", "version": 1}`:  "it is another token",
		`{"version": 1}`:                    "it is another token",
		`{"token": "secret", "version": 2}`: "the page's version is 2, this raybridge's 1: load the page again",
		`{"token": "secret"}`:               "the page's version is 0, this raybridge's 1: load the page again",
		`hello`:                             "a page says first, in JSON, its token and version",
		`{"subscribe": "/speed"}`:           "the page's version is 0, this raybridge's 1: load the page again",
	} {
		p := g.dial(t)
		p.say(say)
		_, _, err := p.read()
		var closed websocket.CloseError
		require.ErrorAs(t, err, &closed, say)
		assert.Equal(t, websocket.StatusPolicyViolation, closed.Code, say)
		assert.Equal(t, reason, closed.Reason, say)
	}
	p := g.dial(t)
	require.NoError(t, p.conn.Write(t.Context(), websocket.MessageBinary, []byte("hello")))
	_, _, err := p.read()
	assert.Equal(t, websocket.StatusProtocolError, websocket.CloseStatus(err))
	silent := g.dial(t) // has the time of a handshake
	_, _, err = silent.read()
	assert.Error(t, err)
}

// A page is told of every stream as other clients are, in the form that it is sent.
func TestPagesAreToldOfStreams(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	types := map[string]string{}
	for _, info := range p.streams {
		types[info.Name] = info.Schema.Name
		assert.NotEmpty(t, info.Schema.Data, info.Name)
		assert.Equal(t, "cdr", info.Schema.MessageEncoding)
	}
	assert.Equal(t, map[string]string{
		"/speed": "raybridge_msgs/msg/Speed", "/image": "sensor_msgs/msg/CompressedImage", "/cloud": "raybridge_msgs/msg/ViewCloud",
	}, types)
	assert.Contains(t, string(p.streams[p.id("/cloud")].Schema.Data), "float32[3] origin\nfloat32[3] size\nuint32 total\nuint32 step\nuint8[] points\n")
	published[*sample.Imu](t, g, bridges.Topic{Name: "/imu"})
	control, payload := p.control()
	assert.Equal(t, byte(2), control)
	assert.Contains(t, string(payload), "/imu")
	g.bridge.Withdraw("/imu")
	control, payload = p.control()
	assert.Equal(t, byte(12), control)
	assert.Len(t, payload, 2)
}

// A page is answered, whatever it says, and the connection stays.
func TestWhatPagesAskFor(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.say(`{"subscribe": "/sped"}`)
	control, payload := p.control()
	assert.Equal(t, byte(3), control)
	assert.Equal(t, answerTo(6, 3, "/sped", `unknown stream "/sped"; there are: /cloud, /image, /speed`), string(payload))
	for say, reason := range map[string]string{
		`{}`:                                             "want one of subscribe, unsubscribe, credit, thin and pick",
		`{"subscribe": "/speed", "thin": true}`:          "want one of",
		`{"subscribe": 7}`:                               "cannot unmarshal number",
		`{"subscribe": "/speed"} {}`:                     "something follows",
		`{"drive": 1}`:                                   `unknown field "drive"`,
		`not JSON`:                                       "invalid character",
		`{"credit": {"stream": 1, "n": 0}}`:              "credit is for 0 messages",
		`{"credit": {"stream": 99999999, "n": 1}}`:       "cannot unmarshal number",
		`{"subscribe": "/speed", "credits": 65}`:         "credits goes with subscribe, and is 1 to 64",
		`{"unsubscribe": "/speed", "credits": 2}`:        "credits goes with subscribe",
		`{"pick": {"stream": 99, "number": 0}}`:          "no cloud has the stream 99",
		`{"pick": {"stream": 1, "index": -1}}`:           "point -1",
		`{"subscribe": "` + long + `"}`:                  "a name of 300 bytes",
		`{"pick": {"stream": 3, "number": 123456}}`:      "is gone",
		`{"thin": "` + strings.Repeat("x", 2<<10) + `"}`: "cannot unmarshal",
	} {
		p.say(say)
		var told struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(p.told()), &told))
		assert.Contains(t, told.Error, reason, say)
	}
	p.say(`{"credit": {"stream": 77, "n": 1}}`) // of one that has ended perhaps
	p.say(`{"unsubscribe": "/speed"}`)
	control, payload = p.control()
	assert.Equal(t, byte(3), control)
	assert.Equal(t, answerTo(7, 0, "/speed", ""), string(payload))
	p.say(`{"thin": "` + strings.Repeat("x", 65<<10) + `"}`)
	for {
		if _, _, err := p.read(); err != nil {
			assert.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err), "%v", err)
			break
		}
	}
}

var long = strings.Repeat("x", 300)

// A page that draws nothing is sent two messages, and then the newest for each that it has drawn. It is told of the
// others.
func TestPagesAreSentTheNewest(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/speed")
	for i := range 10 {
		require.NoError(t, g.speed(t.Context(), speed(i)))
	}
	for i, want := range []uint32{0, 1, 9} {
		if i == 2 {
			p.credit("/speed")
		}
		name, number, d := p.data()
		assert.Equal(t, "/speed", name)
		assert.Equal(t, want, number)
		assert.Equal(t, uint64(want), d.Sequence())
	}
	for p.losses != "\x01\x00\x06\x00/speed\x07\x00\x00\x00\x00\x00\x00\x00\x00" { // a beat may come before all are lost
		control, payload := p.control()
		require.Equal(t, byte(4), control)
		p.losses = string(payload)
	}
	late := g.open(t) // while time stands
	late.subscribe("/speed")
	_, number, _ := late.data()
	assert.Equal(t, uint32(9), number)
	require.Eventually(t, func() bool { return g.bridge.Receivers("/speed") == 1 }, limit, time.Millisecond, "one that draws nothing for a while doesn't count")
	p.credit("/speed")
	require.Eventually(t, func() bool { return g.bridge.Receivers("/speed") == 2 }, limit, time.Millisecond)
	p.say(`{"unsubscribe": "*"}`)
	p.control()
	assert.Equal(t, 1, g.bridge.Receivers("/speed"))
	require.NoError(t, late.conn.CloseNow())
	require.Eventually(t, func() bool { return !g.bridge.Listening("/speed") }, limit, time.Millisecond, "nobody listens any more")
}

// A page may have more on their way, of streams whose every message counts.
func TestPagesChooseTheirCredits(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.say(`{"subscribe": "/speed", "credits": 5}`)
	p.control()
	for i := range 10 {
		require.NoError(t, g.speed(t.Context(), speed(i)))
	}
	for i := range 5 {
		_, number, _ := p.data()
		assert.Equal(t, uint32(i), number)
	}
}

// picture returns a picture of the front camera.
func pictureOf(stamp int, encoding string, size int, data func(pixel int) []byte) *sample.Image {
	m := &sample.Image{Header: sample.Header{Stamp: simtime.Stamp(stamp), Seq: uint64(stamp), FrameID: "front_optical"}, Width: 40, Height: 30, Encoding: encoding}
	m.Step = m.Width*size + 8 // rows needn't be tight
	m.Data = make([]byte, m.Step*m.Height)
	for i := range m.Width * m.Height {
		copy(m.Data[i/m.Width*m.Step+i%m.Width*size:], data(i))
	}
	return m
}

func float32s(v ...float32) (b []byte) {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// inflated unpacks what is deflated.
func inflated(t testing.TB, b []byte) []byte {
	t.Helper()
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	require.NoError(t, err)
	return plain
}

// Colours come as JPEG, and values as they are.
func TestPicturesForPages(t *testing.T) {
	infinite := float32(math.Inf(1))
	for _, c := range []struct {
		name, sensor string
		picture      *sample.Image
		format       string // of what is deflated
		pixel        []byte // the first of those
		color        [3]int // of JPEG
	}{
		{"rgb8", "sensor.camera.rgb", pictureOf(1, "rgb8", 3, func(int) []byte { return []byte{200, 100, 50} }), "", nil, [3]int{200, 100, 50}},
		{"bgr8", "sensor.camera.rgb", pictureOf(1, "bgr8", 3, func(int) []byte { return []byte{50, 100, 200} }), "", nil, [3]int{200, 100, 50}},
		{"bgra8", "sensor.camera.rgb", pictureOf(1, "bgra8", 4, func(int) []byte { return []byte{50, 100, 200, 255} }), "", nil, [3]int{200, 100, 50}},
		{"grey", "sensor.camera.rgb", pictureOf(1, "mono8", 1, func(int) []byte { return []byte{90} }), "", nil, [3]int{90, 90, 90}},
		{"tags", "sensor.camera.semantic_segmentation", pictureOf(1, "mono8", 1, func(i int) []byte { return []byte{byte(i % 29)} }), "mono8 40x30; deflate", []byte{0}, [3]int{}},
		{"ids", "sensor.camera.instance_segmentation", pictureOf(1, "16UC1", 2, func(i int) []byte { return []byte{7, 1} }), "16UC1 40x30; deflate", []byte{7, 1}, [3]int{}},
		{"wide ids", "sensor.camera.instance_segmentation", pictureOf(1, "32SC1", 4, func(i int) []byte { return []byte{7, 1, 2, 0} }), "32SC1 40x30; deflate", []byte{7, 1, 2, 0}, [3]int{}},
		{"near", "sensor.camera.depth", pictureOf(1, "32FC1", 4, func(i int) []byte { return float32s(1.2341) }), "16UC1 40x30 mm; deflate", []byte{0xd2, 0x04}, [3]int{}}, // 1234
		{"nothing near", "sensor.camera.depth", pictureOf(1, "32FC1", 4, func(i int) []byte { return float32s(infinite) }), "16UC1 40x30 mm; deflate", []byte{0xff, 0xff}, [3]int{}},
		{"far", "sensor.camera.depth", pictureOf(1, "32FC1", 4, func(i int) []byte { return float32s(100.0001 + float32(i)*infinite0) }), "32FC1 40x30; deflate", float32s(100), [3]int{}},
		{"normals", "sensor.camera.normals", pictureOf(1, "32FC3", 12, func(i int) []byte { return float32s(0, 0, -1) }), "", nil, [3]int{127, 127, 255}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := openGallery(t)
			publish := published[*sample.Image](t, g, bridges.Topic{Name: "/picture", SensorType: c.sensor})
			p := g.open(t)
			p.subscribe("/picture")
			require.NoError(t, publish(t.Context(), c.picture))
			_, _, d := p.data()
			shown, err := stream.Read[sample.CompressedImage](d)
			require.NoError(t, err)
			assert.Equal(t, c.picture.Header, shown.Header)
			if c.format != "" {
				assert.Equal(t, c.format, shown.Format)
				plain := inflated(t, shown.Data)
				require.Len(t, plain, 40*30*len(c.pixel))
				assert.Equal(t, c.pixel, plain[:len(c.pixel)])
				if c.name == "tags" {
					assert.Equal(t, byte(41%29), plain[41], "rows are tight")
				}
				return
			}
			require.Equal(t, "jpeg", shown.Format)
			decoded, err := jpeg.Decode(bytes.NewReader(shown.Data))
			require.NoError(t, err)
			r, gr, b, _ := decoded.At(20, 15).RGBA()
			for i, v := range []uint32{r, gr, b} {
				assert.InDelta(t, c.color[i], int(v>>8), 4)
			}
		})
	}
}

// infinite0 times a number is 0.
const infinite0 = float32(0)

// cloudOf returns a cloud on a line, in which each tenth ray has missed.
func cloudOf(stamp, points int) *sample.PointCloud {
	m := &sample.PointCloud{Header: sample.Header{Stamp: simtime.Stamp(stamp), Seq: uint64(stamp), FrameID: "lidar"}, Organized: true, Rings: 1, Columns: points}
	for i := range points {
		p := sample.Point{X: float32(i), Y: -float32(i) / 2, Z: 3, Intensity: float32(i % 256), Ring: uint16(i % 300), Tag: uint8(i % 29), Instance: uint32(i) << 8, Ray: uint32(i)}
		if i%10 == 9 {
			p.X, p.Y, p.Z = float32(math.NaN()), float32(math.NaN()), float32(math.NaN())
		}
		m.Points = append(m.Points, p)
	}
	return m
}

// Points come in the box of those that hit something. A large cloud is thinned evenly, unless the page wants all of it;
// either way the page may ask for all that there is to one of them.
func TestCloudsForPages(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/cloud")
	for _, c := range []struct {
		points int
		thin   bool
		step   uint32
	}{{1000, true, 1}, {450_000, true, 3}, {450_000, false, 1}, {0, true, 1}} {
		p.say(fmt.Sprintf(`{"thin": %v}`, c.thin))
		p.say(`{"pick": {"stream": 77}}`) // its answer says that the page was heard
		p.told()
		m := cloudOf(c.points, c.points)
		require.NoError(t, g.cloud(t.Context(), m))
		var v *stream.ViewCloud
		var number uint32
		for { // the last one comes again to those who subscribe
			var d *stream.Data
			_, number, d = p.data()
			p.credit("/cloud")
			var err error
			v, err = stream.Read[stream.ViewCloud](d)
			require.NoError(t, err)
			if v.Seq == m.Seq && v.Step == c.step {
				break
			}
		}
		hits := c.points - c.points/10
		assert.Equal(t, uint32(hits), v.Total)
		shown := (hits + int(c.step) - 1) / int(c.step)
		require.Len(t, v.Points, shown*stream.ViewPointBytes)
		if shown == 0 {
			continue
		}
		k := shown / 2 // one in the middle
		ray := k * int(c.step)
		ray += ray / 9
		b := v.Points[k*stream.ViewPointBytes:]
		for axis, want := range []float32{m.Points[ray].X, m.Points[ray].Y, m.Points[ray].Z} {
			at := v.Origin[axis] + v.Size[axis]*float32(binary.LittleEndian.Uint16(b[2*axis:]))/math.MaxUint16
			assert.InDelta(t, want, at, float64(v.Size[axis])/math.MaxUint16, "axis %d", axis)
		}
		assert.Equal(t, []byte{byte(ray % 256), byte(ray % 300), byte(ray % 29), 0}, b[6:10])
		assert.Equal(t, uint32(ray)<<8, binary.LittleEndian.Uint32(b[10:]))
		p.say(fmt.Sprintf(`{"pick": {"stream": %d, "number": %d, "index": %d}}`, p.id("/cloud"), number, k*int(c.step)))
		var told struct {
			Picked struct {
				Index int
				X     float32
				Ring  uint16
				Ray   uint32
			}
		}
		require.NoError(t, json.Unmarshal([]byte(p.told()), &told))
		assert.Equal(t, k*int(c.step), told.Picked.Index)
		assert.Equal(t, m.Points[ray].X, told.Picked.X)
		assert.Equal(t, m.Points[ray].Ring, told.Picked.Ring)
		assert.Equal(t, uint32(ray), told.Picked.Ray)
		p.say(fmt.Sprintf(`{"pick": {"stream": %d, "number": %d, "index": %d}}`, p.id("/cloud"), number, hits))
		assert.Contains(t, p.told(), "has fewer")
	}
}

// Each return of a firing with several is a point of its own, with its type.
func TestPagesTellReturnsApart(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/cloud")
	m := cloudOf(1, 4)
	m.Organized, m.Returns, m.Rings, m.Columns = true, sample.DualReturns, 1, 2
	nan := float32(math.NaN())
	for i := range m.Points {
		q := &m.Points[i]
		q.X, q.Y, q.Z, q.Ray, q.Return = float32(i), 0, 0, uint32(i/2), []uint8{sample.ReturnOnly, 0, sample.ReturnStrongestFirst, sample.ReturnWeakLast}[i]
	}
	m.Points[1].X, m.Points[1].Y, m.Points[1].Z = nan, nan, nan
	require.NoError(t, g.cloud(t.Context(), m))
	_, number, d := p.data()
	v, err := stream.Read[stream.ViewCloud](d)
	require.NoError(t, err)
	require.Len(t, v.Points, 3*stream.ViewPointBytes)
	for k, want := range []struct{ kind, ray int }{{7, 0}, {3, 1}, {6, 1}} {
		assert.EqualValues(t, want.kind, v.Points[k*stream.ViewPointBytes+9])
		p.say(fmt.Sprintf(`{"pick": {"stream": %d, "number": %d, "index": %d}}`, p.id("/cloud"), number, k))
		assert.Contains(t, p.told(), fmt.Sprintf(`"return":%d,`, want.kind))
	}
}

// A page that wants all points has those of the last cloud without another one: time may stand.
func TestCloudsAreMadeWholeWhileTimeStands(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/cloud")
	require.NoError(t, g.cloud(t.Context(), cloudOf(1, 450_000)))
	_, _, d := p.data()
	v, err := stream.Read[stream.ViewCloud](d)
	require.NoError(t, err)
	assert.Equal(t, uint32(3), v.Step)
	p.say(`{"thin": false}`)
	for v.Step != 1 {
		_, _, d = p.data()
		v, err = stream.Read[stream.ViewCloud](d)
		require.NoError(t, err)
	}
	assert.Len(t, v.Points, 405_000*stream.ViewPointBytes)
}

// A page that wants all points before it subscribes has those of the last cloud.
func TestCloudsAreMadeWholeForOneThatComesLater(t *testing.T) {
	g := openGallery(t)
	thin := g.open(t)
	thin.subscribe("/cloud")
	m := cloudOf(1, 450_000)
	require.NoError(t, g.cloud(t.Context(), m))
	thin.data()
	whole := g.open(t)
	whole.say(`{"thin": false}`)
	whole.subscribe("/cloud")
	for step := uint32(3); step != 1; {
		_, _, d := whole.data()
		v, err := stream.Read[stream.ViewCloud](d)
		require.NoError(t, err)
		step = v.Step
	}
}

// A page's question for a point holds nothing up: clouds are published while one is searched, which stays as it is.
func TestCloudsArePublishedWhileOneIsSearched(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/cloud")
	draw := func(stamp int) (number uint32) {
		t.Helper()
		require.NoError(t, g.cloud(t.Context(), cloudOf(stamp, 1000)))
		_, number, d := p.data()
		require.Equal(t, uint64(stamp), d.Sequence())
		p.credit("/cloud")
		return number
	}
	searched, end := g.port.Search("/cloud", draw(1))
	for stamp := 2; stamp < 12; stamp++ {
		draw(stamp)
	}
	assert.Equal(t, uint64(1), searched.Seq)
	end()
	for stamp := 12; stamp < 20; stamp++ {
		draw(stamp)
	}
	assert.NotEqual(t, uint64(1), searched.Seq, "its memory is used again")
	_, end = g.port.Search("/cloud", draw(20))
	require.NoError(t, p.conn.CloseNow())
	require.NoError(t, g.bridge.Close(t.Context()))
	assert.NotZero(t, g.memory.Held())
	end() // and all is given back
}

// A message that comes once more isn't lost when a newer one overtakes it.
func TestCloudsThatWereSentArentLost(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/cloud")
	for stamp := range 2 { // as many as it has credits
		require.NoError(t, g.cloud(t.Context(), cloudOf(stamp, 250_000)))
		p.data()
	}
	p.say(`{"thin": false}`)
	p.say(`{"pick": {"stream": 77}}`) // its answer says that the page was heard
	p.told()
	require.NoError(t, g.cloud(t.Context(), cloudOf(2, 250_000)))
	p.credit("/cloud")
	_, number, d := p.data()
	assert.Equal(t, uint64(2), d.Sequence())
	assert.Equal(t, uint32(2), number, "none was passed over")
	for _, topic := range g.bridge.Statistics().Topics {
		assert.Empty(t, topic.Drops, topic.Topic)
	}
}

// A page that wants clouds whole keeps all else as it was: its credits, its losses, and no message comes twice.
func TestAllElseGoesOnWhereCloudsAreMadeWhole(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	for _, name := range []string{"/image", "/cloud"} {
		p.say(fmt.Sprintf(`{"subscribe": %q, "credits": 5}`, name))
		p.control()
	}
	picture := pictureOf(1, "rgb8", 3, func(int) []byte { return nil })
	require.NoError(t, g.image(t.Context(), picture))
	require.NoError(t, g.cloud(t.Context(), cloudOf(1, 100)))
	p.data()
	p.data()
	p.say(`{"thin": false}`)
	for stamp := range 4 { // with the credits that are left
		require.NoError(t, g.cloud(t.Context(), cloudOf(2+stamp, 100)))
		name, number, _ := p.data()
		assert.Equal(t, "/cloud", name)
		assert.Equal(t, uint32(1+stamp), number)
	}
}

// A page that comes while time stands has the newest, though nobody had a credit for it before.
func TestTheNewestIsThereForOneThatComesLater(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/image")
	for stamp := range 3 {
		require.NoError(t, g.image(t.Context(), pictureOf(stamp, "rgb8", 3, func(int) []byte { return nil })))
		if stamp < 2 {
			p.data()
		}
	}
	require.NoError(t, p.conn.CloseNow())
	require.Eventually(t, func() bool { return g.bridge.Receivers("/image") == 0 }, limit, time.Millisecond)
	p = g.open(t)
	p.subscribe("/image")
	for sequence := uint64(1); sequence < 3; sequence++ {
		_, _, d := p.data()
		assert.Equal(t, sequence, d.Sequence())
	}
}

// After time went back, a page that comes is sent nothing of later times.
func TestPagesForgetLaterTimes(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/image")
	require.NoError(t, g.image(t.Context(), pictureOf(7, "rgb8", 3, func(int) []byte { return nil })))
	p.data()
	g.port.Forget()
	p = g.open(t)
	p.subscribe("/image")
	require.NoError(t, g.image(t.Context(), pictureOf(1, "rgb8", 3, func(int) []byte { return nil })))
	_, _, d := p.data()
	assert.EqualValues(t, 1, d.Sequence())
}

// A picture that is being encoded while time goes back is sent to nobody: neither to a page that is there nor to one that comes.
func TestPagesForgetWhatIsBeingEncoded(t *testing.T) {
	g := openGallery(t)
	begun, on := make(chan struct{}, 2), make(chan struct{})
	g.port.WatchEncoding("/image", func() {
		begun <- struct{}{}
		select {
		case <-on:
		case <-t.Context().Done(): // the test has failed
		}
	})
	p := g.open(t)
	p.subscribe("/image")
	show := func(stamp int) {
		t.Helper()
		require.NoError(t, g.image(t.Context(), pictureOf(stamp, "rgb8", 3, func(int) []byte { return nil })))
	}
	show(7)
	take(t, begun)
	g.port.Forget()
	on <- struct{}{}
	show(1)
	take(t, begun)
	close(on)
	_, _, d := p.data()
	assert.EqualValues(t, 1, d.Sequence())
	p = g.open(t)
	p.subscribe("/image")
	_, _, d = p.data()
	assert.EqualValues(t, 1, d.Sequence())
	for _, topic := range g.bridge.Statistics().Topics {
		if topic.Topic == "/image" {
			assert.EqualValues(t, 1, topic.Drops[flow.CauseNotConnected], "%v", topic.Drops)
		}
	}
}

// However many pages there are, a picture is encoded once.
func TestPicturesAreEncodedOnce(t *testing.T) {
	g := openGallery(t)
	encoded := 0
	g.port.WatchEncoding("/image", func() { encoded++ })
	pages := []*page{g.open(t), g.open(t), g.open(t)}
	for _, p := range pages {
		p.subscribe("/image")
	}
	for stamp := range 5 {
		require.NoError(t, g.image(t.Context(), pictureOf(stamp, "rgb8", 3, func(int) []byte { return nil })))
		for _, p := range pages {
			_, number, _ := p.data()
			assert.EqualValues(t, stamp, number)
			p.credit("/image")
		}
	}
	require.NoError(t, g.bridge.Close(t.Context()))
	assert.Equal(t, 5, encoded)
}

// Messages held for a page that has no credit are of later times, too.
func TestPagesForgetWhatIsHeldForThem(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/speed")
	for i := range 3 { // the page has two credits
		require.NoError(t, g.speed(t.Context(), speed(7+i)))
	}
	p.data()
	p.data()
	g.port.Forget()
	p.credit("/speed")
	require.NoError(t, g.speed(t.Context(), speed(1)))
	_, _, d := p.data()
	assert.EqualValues(t, 1, d.Sequence())
}

// Intensities of 0..1 fill the byte.
func TestUnitIntensitiesForPages(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/cloud")
	m := cloudOf(1, 2)
	m.UnitIntensity, m.Points[0].Intensity, m.Points[1].Intensity = true, 0.5, 1
	require.NoError(t, g.cloud(t.Context(), m))
	_, _, d := p.data()
	v, err := stream.Read[stream.ViewCloud](d)
	require.NoError(t, err)
	assert.Equal(t, []byte{128, 255}, []byte{v.Points[6], v.Points[stream.ViewPointBytes+6]})
}

// Publishing doesn't wait for pages that take nothing, nor does a page for another. What isn't encoded is counted, and its
// memory bounded.
func TestPagesHoldNobodyUp(t *testing.T) {
	g := openGallery(t)
	stalled := []*page{g.open(t), g.open(t)}
	for _, p := range stalled {
		p.say(`{"subscribe": "*"}`)
		p.control()
	}
	reader := g.open(t)
	reader.subscribe("/image")
	const pictures = 200
	last, drawn := make(chan uint32, 1), fmt.Appendf(nil, `{"credit": {"stream": %d, "n": 1}}`, reader.id("/image"))
	info := reader.streams[reader.id("/image")]
	go func() {
		var number uint32
		for {
			_, message, err := reader.read()
			if err != nil {
				last <- number
				return
			}
			if binary.LittleEndian.Uint16(message) == 0 {
				continue
			}
			number = binary.LittleEndian.Uint32(message[4:])
			picture, err := stream.Open(&info, message[8:])
			if !assert.NoError(t, err) || !assert.EqualValues(t, number, picture.Sequence(), "its place among those that were published") || number == pictures-1 {
				last <- number
				return
			}
			if reader.conn.Write(t.Context(), websocket.MessageText, drawn) != nil {
				last <- number
				return
			}
		}
	}()
	for i := range pictures {
		m := pictureOf(i, "rgb8", 3, func(pixel int) []byte { return []byte{byte(pixel), byte(i), 0} })
		require.NoError(t, g.image(t.Context(), m))
		require.NoError(t, g.cloud(t.Context(), cloudOf(i, 1000)))
	}
	assert.Equal(t, uint32(pictures-1), take(t, last), "the newest comes")
	require.Less(t, g.memory.Held(), int64(1<<20), "of each stream a few samples")
	counts := map[string]int64{}
	for _, topic := range g.bridge.Statistics().Topics {
		counts[topic.Topic] = topic.Messages
	}
	assert.Equal(t, int64(2), counts["/cloud"], "what nobody asks for isn't encoded")
	for _, p := range stalled {
		p.credit("/image")
		var got []uint32
		for len(got) < 3 {
			if name, number, _ := p.data(); name == "/image" {
				got = append(got, number)
			}
		}
		assert.EqualValues(t, pictures-1, got[2], "the newest comes where there was no credit, too: %v", got)
	}
}

// The last that a page is told is that the run has ended, behind what it is still sent.
func TestPagesAreToldOfTheEnd(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/image")
	require.NoError(t, g.image(t.Context(), pictureOf(1, "rgb8", 3, func(int) []byte { return []byte{1, 2, 3} })))
	require.NoError(t, g.bridge.Close(t.Context()))
	name, _, _ := p.data()
	assert.Equal(t, "/image", name)
	control, payload := p.control()
	assert.Equal(t, byte(5), control)
	assert.Equal(t, "\x07\x00\x2f\x00the stream server was closed: the run has ended", string(payload))
	_, _, err := p.read()
	assert.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
}

// A picture that can't be shown is counted, and the next is shown.
func TestPicturesThatCantBeShown(t *testing.T) {
	g := openGallery(t)
	p := g.open(t)
	p.subscribe("/image")
	bad := pictureOf(1, "rgb8", 3, func(int) []byte { return nil })
	bad.Encoding = "yuv9"
	require.NoError(t, g.image(t.Context(), bad))
	require.Eventually(t, func() bool {
		for _, topic := range g.bridge.Statistics().Topics {
			if topic.Drops["convert_failed"] == 1 {
				return true
			}
		}
		return false
	}, limit, time.Millisecond)
	require.NoError(t, g.image(t.Context(), pictureOf(2, "rgb8", 3, func(int) []byte { return nil })))
	_, _, d := p.data()
	assert.Equal(t, uint64(2), d.Sequence())
}

// FuzzPageRequest reads anything as what a page asks for.
func FuzzPageRequest(f *testing.F) {
	for _, text := range []string{`{"subscribe": "*", "credits": 3}`, `{"unsubscribe": "/a"}`, `{"credit": {"stream": 1, "n": 1}}`, `{"thin": false}`, `{"pick": {"stream": 1, "number": 2, "index": 3}}`, `{`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := stream.ReadPageRequest(b)
		if err != nil {
			require.ErrorIs(t, err, stream.ErrMalformed)
			return
		}
		var kept map[string]any
		text, err := json.Marshal(first)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &kept))
		for name, value := range kept {
			if value == nil {
				delete(kept, name)
			}
		}
		text, err = json.Marshal(kept)
		require.NoError(t, err)
		second, err := stream.ReadPageRequest(text)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}
