package velodyne

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// turns is the bridge for the conformance suite, whose clouds are no device's. It gives each the
// shape of a VLP-16's scan whose first return has its topic's number as the intensity.
type turns struct {
	Factory
	model *model

	mu     *sync.Mutex
	topics map[string]byte // guarded by mu
}

func (f turns) Register(p *bridges.Plugin) error {
	return bridges.RegPublisher(p, "velodyne.Packets", func(i *instance, topic *bridges.PublishedTopic) (bridges.Publisher[*sample.PointCloud], error) {
		publish, err := i.publisher(topic)
		return func(ctx context.Context, m *sample.PointCloud) error {
			return publish(ctx, f.turn(topic.Name, m.Header))
		}, err
	})
}

func (f turns) turn(topic string, header sample.Header) *sample.PointCloud {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.topics[topic] == 0 {
		f.topics[topic] = byte(1 + len(f.topics))
	}
	c := f.model.scanOf(header, 1800, bridgetest.Period, 0, func(column, laser int) float64 {
		if column+laser == 0 {
			return 10
		}
		return 0
	})
	c.Points[0].Intensity = float32(f.topics[topic])
	return c
}

// count returns how many scans of each topic a folder's file has.
func (f turns) count(t *testing.T, dir string) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	names, counts := map[byte]string{}, map[string]int{}
	for name, number := range f.topics {
		names[number] = name
	}
	for _, p := range readPcap(t, filepath.Join(dir, "drive.pcap")) {
		if p.port == 2368 && p.payload[6] != 0 {
			counts[names[p.payload[6]]]++
		}
	}
	return counts
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	f := turns{model: models(t)[0x22], mu: &sync.Mutex{}, topics: map[string]byte{}}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: f, Connection: "drive.pcap", Count: f.count,
		BadConnections: []string{
			"", ":2368", "robot:velodyne", "robot:70000", "drive.pcap?position=1", "robot?sensor=", "robot?position=65536", "robot?position=no", "drive.pcap?sensor=",
		},
	})
}

// captured is a packet of a pcap file.
type captured struct {
	us      int64
	port    uint16
	payload []byte
}

// readPcap reads a file by libpcap's description of it, and checks all lengths and checksums.
func readPcap(t testing.TB, path string) (list []captured) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, []byte{0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 1, 0, 0, 0}, b[:24])
	for b = b[24:]; len(b) > 0; {
		field := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
		p := captured{us: int64(field(0))*1_000_000 + int64(field(1))}
		require.Less(t, field(1), uint32(1_000_000))
		require.Equal(t, field(2), field(3))
		packet := b[16:][:field(2)]
		b = b[16+len(packet):]
		require.Equal(t, []byte{8, 0, 0x45}, packet[12:15])
		ip, udp := packet[14:34], packet[34:]
		require.EqualValues(t, len(packet)-14, binary.BigEndian.Uint16(ip[2:]))
		require.EqualValues(t, 17, ip[9])
		require.EqualValues(t, len(udp), binary.BigEndian.Uint16(udp[4:]))
		require.EqualValues(t, 0xFFFF, onesSum(ip), "IPv4's checksum")
		pseudo := append(append([]byte{}, ip[12:20]...), 0, 17, udp[4], udp[5])
		require.EqualValues(t, 0xFFFF, onesSum(append(pseudo, udp...)), "UDP's checksum")
		p.port, p.payload = binary.BigEndian.Uint16(udp[2:]), udp[8:]
		list = append(list, p)
	}
	return list
}

// onesSum is RFC 1071's sum, which is all ones where the checksum is right.
func onesSum(b []byte) uint16 {
	var sum uint64
	for i := 0; i < len(b); i += 2 {
		sum += uint64(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return uint16(sum)
}

// open opens a bridge with a topic for each sensor.
func open(t *testing.T, connection, dir string, names ...string) (*bridges.Bridge, map[string]bridges.Publisher[*sample.PointCloud]) {
	t.Helper()
	origin := spatial.Geodetic{Latitude: 37.5, Longitude: -122.25}
	b, err := bridges.MustRegistry(Factory{}).Open("velodyne:"+connection, bridges.Env{OutDir: dir, Map: spatial.TangentMap(origin)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	publishers := map[string]bridges.Publisher[*sample.PointCloud]{}
	for _, name := range names {
		publishers[name], err = bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/" + name + "/points", Sensor: name})
		require.NoError(t, err)
	}
	return b, publishers
}

// TestReplayedScans: the error of a recording's scan says that it is one, whatever it lacks; a run's doesn't.
func TestReplayedScans(t *testing.T) {
	for _, c := range []struct {
		sensor string
		told   bool
	}{{"roof", false}, {"", true}} {
		b, _ := open(t, "drive.pcap", t.TempDir())
		publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/roof/points", Sensor: c.sensor})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		err = publish(t.Context(), &sample.PointCloud{Rings: 16})
		require.ErrorIs(t, err, bridges.ErrConvert)
		assert.Equal(t, c.told, strings.Contains(err.Error(), "a recording's scans have no numbers of rays"), err)
	}
}

// TestRecording: the file has each packet with its stamp, a position packet before each scan, and the
// last packet filled up; and the same run gives the same bytes.
func TestRecording(t *testing.T) {
	list := models(t)
	m, period := list[0x22], 50*time.Millisecond
	const hour = simtime.Stamp(time.Hour)
	var files [2][]byte
	for i := range files {
		dir := t.TempDir()
		b, publish := open(t, "drive.pcap", dir, "roof")
		assert.Equal(t, bridges.KindFile, b.Info().Kind)
		require.NoError(t, b.Connect(t.Context()))
		for seq := range 3 {
			header := stamped(seq, period)
			header.Stamp += hour - simtime.Stamp(period) // the second scan begins a full hour
			header.Pose.Position = mgl64.Vec3{0, 100, 2}
			require.NoError(t, publish["roof"](t.Context(), m.scanOf(header, 900, period, 0, rough(m, uint64(seq)))))
		}
		require.NoError(t, b.Close(t.Context()))
		path := filepath.Join(dir, "drive.pcap")
		var err error
		files[i], err = os.ReadFile(path)
		require.NoError(t, err)
		packets := readPcap(t, path)
		require.Len(t, packets, 113+3)
		row := b.Statistics().Topics[0]
		assert.EqualValues(t, 3, row.Messages)
		assert.EqualValues(t, len(files[i])-24-(16+42+1206), row.Bytes, "all but the header and the last packet")
		var positions []captured
		for at, p := range packets {
			assert.GreaterOrEqual(t, p.us, packets[max(at-1, 0)].us, "stamps never fall")
			switch p.port {
			case 8308:
				positions = append(positions, p)
			case 2368:
				_, readings := readPacket(t, list, p.payload)
				assert.EqualValues(t, p.us%3_600_000_000, readings[0].stamp)
			}
		}
		require.Len(t, positions, 3)
		place := positions[1]
		require.Len(t, place.payload, 512)
		assert.EqualValues(t, 3_600_000_000, place.us)
		assert.Zero(t, binary.LittleEndian.Uint32(place.payload[198:]))
		assert.EqualValues(t, 2, place.payload[202], "the pulse is locked")
		sentence, rest, _ := bytes.Cut(place.payload[206:], []byte("\r\n"))
		checkRMC(t, string(sentence), "010000", "010170", origin(100))
		assert.Equal(t, make([]byte, len(rest)), rest)
		assert.Less(t, len(sentence), 128)
	}
	assert.True(t, bytes.Equal(files[0], files[1]), "equal runs give equal bytes")
}

// recorderOn returns an instance that records to disks, one after another, and a publisher of scans.
func recorderOn(t *testing.T, disks ...*bridgetest.FullDisk) (i *instance, publish bridges.Publisher[*sample.PointCloud]) {
	t.Helper()
	made, err := Factory{}.NewInstance(bridges.Env{OutDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	i = made.(*instance)
	i.file.Open = func(string) (bridges.Target, error) {
		disk := disks[0]
		disks = disks[1:]
		return disk, nil
	}
	publish, err = i.publisher(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/roof/points", Sensor: "roof"}})
	require.NoError(t, err)
	return i, publish
}

// TestConnectAfterAFailedRecording: a full disk ends one recording, not those after it, nor what is sent by UDP.
func TestConnectAfterAFailedRecording(t *testing.T) {
	const period = 100 * time.Millisecond
	scan := models(t)[0x22].scanOf(stamped(0, period), 1800, period, 0, func(int, int) float64 { return 3 })
	_, port := receiver(t, "127.0.0.1:0")
	for _, connection := range []string{"again.pcap", fmt.Sprintf("127.0.0.1:%d?position=0", port)} {
		full, empty := &bridgetest.FullDisk{Capacity: 2000}, &bridgetest.FullDisk{Capacity: 1 << 20}
		i, publish := recorderOn(t, full, empty)
		require.NoError(t, i.Connect(t.Context(), "drive.pcap"))
		require.ErrorIs(t, publish(t.Context(), scan), flow.ErrWriteFailed)
		require.ErrorIs(t, i.Err(), flow.ErrWriteFailed)
		require.NoError(t, i.Connect(t.Context(), connection), connection)
		require.NoError(t, i.Err(), connection)
		require.Eventually(t, func() bool { return i.Status() == flow.Connected }, 20*time.Second, time.Millisecond, connection)
		require.NoError(t, publish(t.Context(), scan), connection)
		require.NoError(t, i.Disconnect(t.Context()), connection)
		assert.Equal(t, 1, full.Closed)
	}
}

// TestConnectionStrings: a file is known by its end in any case, and each kind of packet has a port.
func TestConnectionStrings(t *testing.T) {
	for text, file := range map[string]string{"x.pcap": "x.pcap", "x.PCAP?sensor=f": "x.PCAP", "pcap.local": "", "[::1]:2370?position=2371": ""} {
		c, err := parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, file, c.file, text)
		assert.Equal(t, file != "", Factory{}.KindOf(text) == bridges.KindFile, text)
	}
	for _, text := range []string{"127.0.0.1?position=2368", "127.0.0.1:8308"} {
		_, err := parse(text)
		require.ErrorIs(t, err, bridges.ErrConnectionString)
		assert.ErrorContains(t, err, "is the port of the data packets")
	}
}

// TestNoRoomForTheHeader: a file that can't be begun is closed.
func TestNoRoomForTheHeader(t *testing.T) {
	disk := &bridgetest.FullDisk{Capacity: 20}
	i, _ := recorderOn(t, disk)
	require.ErrorIs(t, i.Connect(t.Context(), "drive.pcap"), syscall.ENOSPC)
	assert.Equal(t, 1, disk.Closed)
	assert.False(t, i.Reached())
	assert.NoError(t, i.Disconnect(t.Context()))
}

// origin is a place so many metres north of the test's map.
func origin(north float64) (at spatial.Geodetic) {
	const metresPerDegree = 110_990 // of the meridian at 37.5 degrees
	return spatial.Geodetic{Latitude: 37.5 + north/metresPerDegree, Longitude: -122.25}
}

// checkRMC reads a sentence as NMEA 0183 describes it.
func checkRMC(t *testing.T, sentence, clock, date string, at spatial.Geodetic) {
	t.Helper()
	body, sum, ok := strings.Cut(strings.TrimPrefix(sentence, "$"), "*")
	require.True(t, ok, sentence)
	var want byte
	for i := range len(body) {
		want ^= body[i]
	}
	assert.Equal(t, fmt.Sprintf("%02X", want), sum)
	fields := strings.Split(body, ",")
	require.Len(t, fields, 13)
	assert.Equal(t, []string{"GPRMC", clock, "A"}, fields[:3])
	assert.Equal(t, date, fields[9])
	degrees := func(text string, digits int, letter string) float64 {
		whole, err := strconv.ParseFloat(text[:digits], 64)
		require.NoError(t, err)
		minutes, err := strconv.ParseFloat(text[digits:], 64)
		require.NoError(t, err)
		if letter == "S" || letter == "W" {
			return -(whole + minutes/60)
		}
		return whole + minutes/60
	}
	assert.InDelta(t, at.Latitude, degrees(fields[3], 2, fields[4]), 1e-6)
	assert.InDelta(t, at.Longitude, degrees(fields[5], 3, fields[6]), 1e-6)
}

// TestSentences: places near the edges, and times.
func TestSentences(t *testing.T) {
	for _, at := range []spatial.Geodetic{{}, {Latitude: -89.999999, Longitude: 179.999999}, {Latitude: 0.5, Longitude: -0.25}} {
		checkRMC(t, strings.TrimSpace(string(appendRMC(nil, simtime.Stamp(25*time.Hour+61*time.Second), at))), "010101", "020170", at)
		checkRMC(t, strings.TrimSpace(string(appendRMC(nil, simtime.Stamp(999*time.Millisecond), at))), "000000", "010170", at)
	}
	assert.EqualValues(t, 3_599_999_999, pastHour(simtime.Stamp(3*time.Hour-time.Microsecond)))
	assert.EqualValues(t, 0, pastHour(simtime.Stamp(3*time.Hour)))
}

// TestWhichLidar: a run with several needs the name of one, and others aren't listened to.
func TestWhichLidar(t *testing.T) {
	m := models(t)[0x22]
	scan := m.scanOf(stamped(0, 100*time.Millisecond), 1800, 100*time.Millisecond, 0, rough(m, 1))
	for connection, want := range map[string]string{
		"drive.pcap":               "the run has the lidars roof, rear: name one with sensor=NAME",
		"127.0.0.1":                "the run has the lidars roof, rear",
		"drive.pcap?sensor=rooof":  "did you mean roof?",
		"127.0.0.1?sensor=bumper_": "known are roof, rear",
	} {
		b, _ := open(t, connection, t.TempDir(), "roof", "rear")
		err := b.Connect(t.Context())
		assert.ErrorIs(t, err, bridges.ErrConnectionString, connection)
		assert.ErrorContains(t, err, want, connection)
		assert.False(t, b.EverConnected())
	}
	b, publish := open(t, "drive.pcap?sensor=rear", t.TempDir(), "roof", "rear")
	require.NoError(t, b.Connect(t.Context()))
	assert.True(t, b.Listening("/rear/points"))
	assert.False(t, b.Listening("/roof/points"))
	assert.NoError(t, publish["rear"](t.Context(), scan))
	assert.ErrorIs(t, publish["roof"](t.Context(), scan), flow.ErrNotConnected)

	b, _ = open(t, "drive.pcap", t.TempDir(), "roof")
	require.NoError(t, b.Connect(t.Context()))
	_, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/late", Sensor: "late"})
	assert.ErrorContains(t, err, "the run has the lidars roof, late")
	b.Withdraw("/roof/points")
	_, err = bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/late", Sensor: "late"})
	assert.NoError(t, err, "the only one again")
}

// receiver listens for packets.
func receiver(t *testing.T, address string) (conn net.PacketConn, port int) {
	t.Helper()
	conn, err := net.ListenPacket("udp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.UDPConn).SetReadBuffer(4<<20))
	return conn, conn.LocalAddr().(*net.UDPAddr).Port
}

// next reads a packet.
func next(t *testing.T, conn net.PacketConn) []byte {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	b := make([]byte, 2048)
	n, _, err := conn.ReadFrom(b)
	require.NoError(t, err)
	return b[:n]
}

// TestUDP: a receiver gets the packets of the recording, not faster than the device sends them, and its position packets.
func TestUDP(t *testing.T) {
	m := models(t)[0x28]
	const period = 50 * time.Millisecond
	scan := m.scanOf(stamped(0, period), 900, period, 0, rough(m, 1))
	data, port := receiver(t, "127.0.0.1:0")
	positions, positionPort := receiver(t, "127.0.0.1:0")
	b, publish := open(t, fmt.Sprintf("127.0.0.1:%d?position=%d", port, positionPort), t.TempDir(), "roof")
	assert.Equal(t, bridges.KindNetwork, b.Info().Kind)
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	began := time.Now()
	require.NoError(t, publish["roof"](t.Context(), scan))
	var e encoder
	var want packets
	require.NoError(t, e.scan(&want, scan))
	for i := range want.stamps {
		assert.Equal(t, want.data[1206*i:][:1206], next(t, data))
	}
	assert.GreaterOrEqual(t, time.Since(began), period*74/75-together, "no packet before it is due")
	require.Len(t, next(t, positions), 512)
	require.NoError(t, b.Close(t.Context()))
	assert.EqualValues(t, 1, b.Statistics().Messages)
	assert.EqualValues(t, 512+75*1206, b.Statistics().Topics[0].Bytes, "what was received")
	assert.True(t, b.EverConnected())
}

// TestUDPAfterLostScans: after a gap or a reset the rest of the scan before goes at once, and the next scan at its own pace:
// nothing is dropped, and the connection stays.
func TestUDPAfterLostScans(t *testing.T) {
	m := models(t)[0x22]
	const columns, period = 900, 50 * time.Millisecond // 37.5 packets
	data, port := receiver(t, "127.0.0.1:0")
	b, publish := open(t, fmt.Sprintf("127.0.0.1:%d?position=0", port), t.TempDir(), "roof")
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	for i, seq := range []int{0, 200, 0} {
		require.NoError(t, publish["roof"](t.Context(), m.scanOf(stamped(seq, period), columns, period, 0, func(int, int) float64 { return 3 })))
		for range 37 + min(i, 1) {
			next(t, data)
		}
	}
	require.NoError(t, b.Close(t.Context()))
	assert.EqualValues(t, 3, b.Statistics().Messages)
	assert.EqualValues(t, (37+38+38)*1206, b.Statistics().Topics[0].Bytes, "what was received, without position packets")
	assert.Zero(t, b.Statistics().Drops.Total())
	assert.NoError(t, b.Diagnosis().LastError)
}

// TestUDPInAStep: scans that come at once are sent one after another, at the pace of the device or up to a tenth faster.
func TestUDPInAStep(t *testing.T) {
	m := models(t)[0x22]
	const columns, period = 900, 50 * time.Millisecond // 37.5 packets
	data, port := receiver(t, "127.0.0.1:0")
	b, publish := open(t, fmt.Sprintf("127.0.0.1:%d?position=0", port), t.TempDir(), "roof")
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	start := time.Now()
	for seq := range 3 {
		require.NoError(t, publish["roof"](t.Context(), m.scanOf(stamped(seq, period), columns, period, 0, func(int, int) float64 { return 3 })))
	}
	for range 37 + 38 + 37 {
		next(t, data)
	}
	assert.GreaterOrEqual(t, time.Since(start), period+period*9/10+period*9/10*864/900-together, "the last packet has columns from 864 on")
	require.NoError(t, b.Close(t.Context()))
	assert.EqualValues(t, 3, b.Statistics().Messages)
}

// TestPace: scans begin when they come, or when those before have ended, and catch up by a tenth of a turn each.
func TestPace(t *testing.T) {
	const turn = 100 // milliseconds, as all here
	for name, c := range map[string]struct{ came, begin, took []int }{
		"in time":       {[]int{0, 100, 200}, []int{0, 100, 200}, []int{100, 100, 100}},
		"one was late":  {[]int{0, 125, 200, 300, 400, 500}, []int{0, 125, 225, 315, 405, 500}, []int{100, 100, 90, 90, 95, 100}},
		"all at once":   {[]int{0, 0, 0, 0}, []int{0, 100, 190, 280}, []int{100, 90, 90, 90}},
		"after a pause": {[]int{0, 5000, 5050}, []int{0, 5000, 5100}, []int{100, 100, 90}},
	} {
		var p pace
		zero := time.Now()
		for i, came := range c.came {
			s := p.begin(zero.Add(time.Duration(came)*time.Millisecond), turn*time.Millisecond)
			begin, took := time.Duration(c.begin[i])*time.Millisecond, time.Duration(c.took[i])*time.Millisecond
			assert.Equal(t, begin, s.due(0).Sub(zero), "%s: scan %d", name, i)
			assert.Equal(t, begin+took/2, s.due(turn/2*time.Millisecond).Sub(zero), "%s: the middle of scan %d", name, i)
		}
	}
}

// TestSinceScan: packets of the scan wait, also past the end of an hour; others don't.
func TestSinceScan(t *testing.T) {
	for name, c := range map[string]struct {
		packet, scan uint32
		want         time.Duration
	}{
		"the first":             {7_000_000, 7_000_000, 0},
		"in the turn":           {7_049_333, 7_000_000, 49_333 * time.Microsecond},
		"just before the scan":  {6_999_333, 7_000_000, 0},
		"long before the scan":  {1_000_000, 7_000_000, 0},
		"after the scan":        {7_050_000, 7_000_000, 0},
		"in the next hour":      {10_000, 3_599_990_000, 20 * time.Millisecond},
		"in the hour before":    {3_599_999_000, 0, 0},
		"an hour's end and gap": {3_599_000_000, 2_000_000, 0},
	} {
		assert.Equal(t, c.want, sinceScan(c.packet, c.scan, 50_000), name)
	}
}

// TestNobodyThere: a run continues when a host refuses its packets. They are counted as dropped, and the host gets later ones once it listens.
func TestNobodyThere(t *testing.T) {
	m := models(t)[0x28]
	const period = 50 * time.Millisecond
	gone, port := receiver(t, "127.0.0.1:0")
	require.NoError(t, gone.Close())
	b, publish := open(t, fmt.Sprintf("127.0.0.1:%d?position=0&retry=20ms", port), t.TempDir(), "roof")
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	seq := 0
	send := func() {
		_ = publish["roof"](t.Context(), m.scanOf(stamped(seq, period), 900, period, 0, func(int, int) float64 { return 3 }))
		seq++
	}
	require.Eventually(t, func() bool {
		send()
		return b.Statistics().Drops.Total() > 0 && b.Diagnosis().LastError != nil
	}, 20*time.Second, 5*time.Millisecond)
	assert.NoError(t, b.Err(), "the run goes on")
	assert.False(t, b.EverConnected(), "every packet was refused")
	there, _ := receiver(t, fmt.Sprintf("127.0.0.1:%d", port))
	go func() { // all of it is read, so that nothing is lost on the way
		for b := make([]byte, 2048); ; {
			if _, _, err := there.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	before := b.Statistics().Messages
	require.Eventually(t, func() bool {
		send()
		return b.Statistics().Messages > before
	}, 20*time.Second, 5*time.Millisecond)
	assert.True(t, b.EverConnected())
}

// TestSocketsAreNobody: sockets that are open for long count as a receiver only until a packet is refused.
func TestSocketsAreNobody(t *testing.T) {
	gone, port := receiver(t, "127.0.0.1:0")
	require.NoError(t, gone.Close())
	b, publish := open(t, fmt.Sprintf("127.0.0.1:%d?position=0&retry=1h", port), t.TempDir(), "roof")
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	time.Sleep(1100 * time.Millisecond) // a peer of another protocol would have ended the connection
	assert.True(t, b.EverConnected(), "nothing speaks against it")
	const period = 50 * time.Millisecond
	scan := models(t)[0x28].scanOf(stamped(0, period), 900, period, 0, func(int, int) float64 { return 3 })
	require.NoError(t, publish["roof"](t.Context(), scan))
	require.Eventually(t, func() bool { return b.Statistics().Drops.Total() > 0 }, 20*time.Second, 5*time.Millisecond)
	assert.False(t, b.EverConnected())
	require.NoError(t, b.Close(t.Context()))
	assert.False(t, b.EverConnected())
}
