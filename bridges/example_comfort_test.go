package bridges_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	official "github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Comfort is what a sensor of your own publishes: how a ride feels, in the vehicle's axes.
// Acceleration is in m/s^2, AngularVelocity in rad/s, Jerk in m/s^3.
type Comfort struct {
	sample.Header
	Acceleration, AngularVelocity mgl64.Vec3
	Jerk                          float64
}

// ComfortMessage is the ROS message comfort_msgs/Comfort.
type ComfortMessage struct {
	Header                        ros.Header
	Acceleration, AngularVelocity ros.Vector3
	Jerk                          float64
}

func (m *ComfortMessage) TypeName() string { return "comfort_msgs/msg/Comfort" }

func (m *ComfortMessage) Fields(v ros.Visitor) {
	v.Message("header", &m.Header)
	v.Message("acceleration", &m.Acceleration)
	v.Message("angular_velocity", &m.AngularVelocity)
	v.Value("jerk", ros.Of(&m.Jerk))
}

// ComfortPublication lets bridges to ROS carry a *Comfort as a ComfortMessage.
var ComfortPublication = ros.Publish(func(dst *ComfortMessage, src *Comfort) error {
	a, w := src.Acceleration, src.AngularVelocity
	dst.Acceleration = ros.Vector3{X: a[0], Y: a[1], Z: a[2]}
	dst.AngularVelocity = ros.Vector3{X: w[0], Y: w[1], Z: w[2]}
	dst.Jerk = src.Jerk
	return ros.SetHeader(&dst.Header, &src.Header)
})

// A message type of your own is written once, and registered with any bridge to ROS.
func Example_comfort() {
	dir, err := os.MkdirTemp("", "comfort")
	check(err)
	defer os.RemoveAll(dir)
	server := peers.NewRosbridge(peers.RosbridgeConfig{})
	check(server.Start())
	defer server.Kill()

	registry := bridges.MustRegistry(mcap.Factory{}, rosbridge.Factory{})
	check(ros.Register(registry, ComfortPublication, "mcap", "rosbridge"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, spec := range []string{"mcap:ride.mcap?compression=none", "rosbridge:" + server.Addr() + "?ros=2"} {
		bridge, err := registry.Open(spec, bridges.Env{OutDir: dir})
		check(err)
		publish, err := bridges.AddPublisher[*Comfort](bridge, bridges.Topic{Name: "/comfort"})
		check(err)
		check(bridge.Connect(ctx))
		check(bridge.Await(ctx))
		check(publish(ctx, &Comfort{Header: sample.Header{FrameID: "base_link"}, Acceleration: mgl64.Vec3{1.5}, Jerk: -0.25}))
		check(bridge.Close(ctx)) // delivers what was taken
	}
	check(bridgetest.Await(ctx, func() bool { return server.Received()["/comfort"] > 0 }))
	m := server.Messages("/comfort")[0]
	fmt.Println("rosbridge:", m.Type, m.Values["acceleration"], m.Values["jerk"])
	printRide(filepath.Join(dir, "ride.mcap"))
	// Output:
	// rosbridge: comfort_msgs/msg/Comfort map[x:1.5 y:0 z:0] -0.25
	// mcap: comfort_msgs/msg/Comfort as cdr, jerk -0.25
	// std_msgs/Header header
	// geometry_msgs/Vector3 acceleration
	// geometry_msgs/Vector3 angular_velocity
	// float64 jerk
}

// printRide reads a recording as other software does.
func printRide(path string) {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	reader, err := official.NewReader(file)
	check(err)
	messages, err := reader.Messages()
	check(err)
	schema, channel, message, err := messages.NextInto(nil)
	check(err)
	jerk := math.Float64frombits(binary.LittleEndian.Uint64(message.Data[len(message.Data)-8:]))
	fmt.Printf("mcap: %s as %s, jerk %v\n", schema.Name, channel.MessageEncoding, jerk)
	definition, _, _ := strings.Cut(string(schema.Data), "===") // those of its parts follow
	fmt.Print(definition)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
