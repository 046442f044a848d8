package wire_test

import (
	"fmt"
	"time"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// A sender appends, a receiver reads from the bytes.
func ExampleAppend() {
	scan := &sample.LaserScan{
		Header:   sample.Header{StampNs: 2e9, Seq: 7, FrameID: "lidar"},
		AngleMin: -1, AngleMax: 1, AngleIncrement: 1, RangeMax: 100, Ranges: []float32{5, 6.5, 8},
	}
	b, err := wire.Append(nil, wire.Envelope{Type: wire.NewTypeID(22, 0), PublishNs: 2.1e9}, scan)
	if err != nil {
		panic(err)
	}

	v, err := wire.OpenLaserScan(b)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(b), "bytes,", v.Kind(), "of sensor type", v.Type().Number())
	fmt.Println(v.FrameID(), v.Sequence(), time.Duration(v.CaptureNs()), v.Ranges())
	// Output:
	// 176 bytes, LaserScan of sensor type 22
	// lidar 7 2s [5 6.5 8]
}
