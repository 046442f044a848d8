package ros1_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1"
)

// Jerk is a measurement that ROS 1 knows as std_msgs/Float64.
type Jerk struct{ Value float64 }

// A type of one's own needs a name, a sum and a definition, and a function that
// serialises it.
func ExampleRegPublisher() {
	registry := bridges.MustRegistry(ros1.Factory{})
	plugin, err := registry.Plugin("ros1")
	if err != nil {
		panic(err)
	}
	schema := ros1.Schema{Name: "std_msgs/Float64", MD5: "fdb28210bfa9d7c91146260178d9a584", Definition: "float64 data\n"}
	err = ros1.RegPublisher(plugin, schema, func(dst []byte, m *Jerk) ([]byte, error) {
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(m.Value)), nil
	})
	if err != nil {
		panic(err)
	}
	for _, known := range plugin.Types() {
		if known.Wire == schema.Name {
			fmt.Println(known.Go, "is published as", known.Wire)
		}
	}
	// Output:
	// *ros1_test.Jerk is published as std_msgs/Float64
}
