package velodyne

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// recorder writes the packets to a pcap file, with their stamps.
type recorder struct {
	bridges.Recorder[*recording]
}

func newRecorder(env bridges.Env) *recorder {
	r := &recorder{}
	r.Env, r.Read = env, r.read
	return r
}

func (r *recorder) read(connection string) (func() (*recording, error), error) {
	c, err := parse(connection)
	if err != nil {
		return nil, err
	}
	path := c.file
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Env.OutDir, path)
	}
	return func() (*recording, error) {
		file, err := r.Create(path)
		if err != nil {
			return nil, err
		}
		_, err = file.Write(pcapHeader())
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &recording{File: file}, nil
	}, nil
}

// publisher returns what records the scans of a topic.
func (r *recorder) publisher(topic *bridges.PublishedTopic) bridges.Publisher[*sample.PointCloud] {
	return func(_ context.Context, m *sample.PointCloud) error {
		r.Lock()
		defer r.Unlock()
		file, err := r.Recording()
		if err != nil {
			return err
		}
		file.packets.reset()
		if err := file.encoder.scan(&file.packets, m); err != nil {
			return err
		}
		file.encoder.tell(r.Env.Log)
		size, err := file.record(m.Stamp, r.Env.Map.Geodetic(m.Pose.Position))
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			return r.Fail(err)
		}
		topic.Sent(size)
		return nil
	}
}

// recording is a pcap file of one connection.
type recording struct {
	*bridges.File
	encoder encoder
	packets packets
	buffer  []byte // of one record
}

// End completes the packet that isn't full, and the file.
func (f *recording) End() error {
	f.packets.reset()
	f.encoder.flush(&f.packets)
	if err := f.writeData(0, len(f.packets.stamps)); err != nil {
		return err
	}
	return f.Commit()
}

// record writes a scan's data packets and its position packet, which comes behind what begins in an earlier scan. It returns
// their size with all headers.
func (f *recording) record(at simtime.Stamp, place spatial.Geodetic) (size int, err error) {
	n := len(f.packets.stamps)
	if err := f.writeData(0, f.packets.before); err != nil {
		return 0, err
	}
	if err := f.write(at, positionPort, func(dst []byte) []byte { return appendPosition(dst, at, place) }); err != nil {
		return 0, err
	}
	size = recordHeader + packetHeaders + positionBytes
	return size + n*(recordHeader+packetHeaders+dataBytes), f.writeData(f.packets.before, n)
}

// writeData writes the data packets from one to another, which it leaves out.
func (f *recording) writeData(from, to int) error {
	for i := from; i < to; i++ {
		packet := f.packets.data[i*dataBytes:][:dataBytes]
		if err := f.write(f.packets.stamps[i], dataPort, func(dst []byte) []byte { return append(dst, packet...) }); err != nil {
			return err
		}
	}
	return nil
}

// write writes one packet, whose payload is appended.
func (f *recording) write(at simtime.Stamp, port uint16, payload func(dst []byte) []byte) error {
	b := append(f.buffer[:0], make([]byte, recordHeader+packetHeaders)...)
	b = payload(b)
	f.buffer = b
	us := microseconds(at)
	size := uint32(len(b) - recordHeader)
	binary.LittleEndian.PutUint32(b, uint32(us/int64(time.Second/time.Microsecond)))
	binary.LittleEndian.PutUint32(b[4:], uint32(us%int64(time.Second/time.Microsecond)))
	binary.LittleEndian.PutUint32(b[8:], size)
	binary.LittleEndian.PutUint32(b[12:], size)
	putHeaders(b[recordHeader:], port)
	_, err := f.Write(b)
	return err
}

// Sizes of a record's header and of those of Ethernet, IPv4 and UDP, bytes.
const (
	recordHeader  = 16
	ethernetBytes = 14
	ipBytes       = 20
	udpBytes      = 8
	packetHeaders = ethernetBytes + ipBytes + udpBytes
)

// pcapHeader returns the file's header: libpcap's format with microseconds, little endian, version
// 2.4, link type Ethernet.
func pcapHeader() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0xA1B2C3D4)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, 65535)
	return binary.LittleEndian.AppendUint32(b, 1)
}

// putHeaders writes the headers of a broadcast from the device's address as it is delivered,
// 192.168.1.201, before the payload of a packet.
func putHeaders(packet []byte, port uint16) {
	ethernet, ip := packet[:ethernetBytes], packet[ethernetBytes:]
	copy(ethernet, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x60, 0x76, 0x88, 0, 0, 0, 0x08, 0x00})
	copy(ip, []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 168, 1, 201, 255, 255, 255, 255})
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[10:], ^folded(sumOf(ip[:ipBytes])))
	udp := ip[ipBytes:]
	binary.BigEndian.PutUint16(udp, port)
	binary.BigEndian.PutUint16(udp[2:], port)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	sum := sumOf(ip[12:ipBytes]) + 17 + uint32(len(udp)) + sumOf(udp) // with the pseudo header
	checksum := ^folded(sum)
	if checksum == 0 { // which would say that there is none
		checksum = 0xFFFF
	}
	binary.BigEndian.PutUint16(udp[6:], checksum)
}

// sumOf adds up the 16-bit words of an even number of bytes, 128 KiB at the most.
func sumOf(b []byte) (sum uint32) {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	return sum
}

// folded is the sum in ones' complement.
func folded(sum uint32) uint16 {
	sum = sum>>16 + sum&0xFFFF
	return uint16(sum>>16 + sum)
}
