//go:build cgo

package main

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lidars of an SVL vehicle send their packets to two hosts: each gets those of its own device on its own ports. There are two scans at most, of
// which a run that is late may leave one out.
func TestSVLVehicleSendsPackets(t *testing.T) {
	t.Parallel()
	type receiver struct {
		net.PacketConn
		got [][]byte
	}
	var reading sync.WaitGroup
	listen := func(host string) (*receiver, string) {
		conn, err := net.ListenPacket("udp", host+":0")
		require.NoError(t, err)
		r := &receiver{PacketConn: conn}
		reading.Go(func() {
			for b := make([]byte, 2048); ; {
				n, _, err := conn.ReadFrom(b)
				if err != nil {
					return
				}
				r.got = append(r.got, append([]byte(nil), b[:n]...))
			}
		})
		_, port, err := net.SplitHostPort(conn.LocalAddr().String())
		require.NoError(t, err)
		return r, port
	}
	roof, roofPort := listen("127.0.0.1")
	roofPosition, roofPositionPort := listen("127.0.0.1")
	front, frontPort := listen("127.0.0.2")
	frontPosition, frontPositionPort := listen("127.0.0.2")
	rig := strings.NewReplacer("ROOF", roofPort, "RP", roofPositionPort, "FRONT", frontPort, "FP", frontPositionPort).Replace(`[
		{"type": "Velodyne Lidar", "name": "roof", "params": {"HostName": "127.0.0.1", "UDPPortData": ROOF, "UDPPortPosition": RP}, "transform": {"y": 2}},
		{"type": "Velodyne Lidar", "name": "front", "params": {"HostName": "127.0.0.2", "UDPPortData": FRONT, "UDPPortPosition": FP, "VelodyneLidarType": "VLP_32C"}, "transform": {"y": 2}}
	]`)
	o := call(t, "run", "--gpu", "host", "--headless", "--scene", "plane", "--rig", write(t, t.TempDir(), "vehicle.json", rig), "--duration", "250ms")
	require.Equal(t, exitDone, o.code, o.err)
	for _, r := range []*receiver{roof, roofPosition, front, frontPosition} {
		require.NoError(t, r.Close())
	}
	reading.Wait()
	for _, c := range []struct {
		data, position *receiver
		least          int  // packets of a scan
		product        byte // the last byte of each
	}{{roof, roofPosition, 75, 0x22}, {front, frontPosition, 150, 0x28}} {
		assert.GreaterOrEqual(t, len(c.data.got), c.least)
		for _, packet := range c.data.got {
			require.Len(t, packet, 1206)
			require.Equal(t, []byte{0x37, c.product}, packet[1204:])
		}
		require.NotEmpty(t, c.position.got)
		for _, packet := range c.position.got {
			require.Len(t, packet, 512)
			require.Equal(t, "$GPRMC", string(packet[0xCE:][:6]))
		}
	}
}
