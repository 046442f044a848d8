package ros1_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/simtime"
)

// Jerk is a measurement that ROS 1 knows as std_msgs/Float64.
type Jerk struct {
	StampNs int64
	Value   float64
}

// Captured returns the capture time.
func (j *Jerk) Captured() simtime.Stamp { return simtime.Stamp(j.StampNs) }

// A type of your own needs a name, a sum and a definition, and a function that serialises it.
func ExampleFactory_RegCodec() {
	registry := bridges.MustRegistry(ros1.Factory{})
	plugin, err := registry.Plugin("ros1")
	if err != nil {
		panic(err)
	}
	jerk := bridges.Codec[*Jerk]{
		Schema: bridges.Schema{
			Name: "std_msgs/Float64", Encoding: "ros1msg", Data: []byte("float64 data\n"), MessageEncoding: "ros1",
			MD5: "fdb28210bfa9d7c91146260178d9a584",
		},
		Append: func(dst []byte, m *Jerk) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(m.Value)), nil
		},
	}
	err = jerk.Register(plugin)
	if err != nil {
		panic(err)
	}
	for _, known := range plugin.Types() {
		if known.Wire == jerk.Schema.Name {
			fmt.Println(known.Go, "is published as", known.Wire)
		}
	}
	// Output:
	// *ros1_test.Jerk is published as std_msgs/Float64
}
