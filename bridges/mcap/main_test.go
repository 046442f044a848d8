package mcap_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// envRecorder has the connection string of a test binary that is to record without end.
const envRecorder = "RAYBRIDGE_TEST_RECORDER"

func TestMain(m *testing.M) {
	if connection := os.Getenv(envRecorder); connection != "" {
		if err := recordForEver(connection); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// recordForEver records scans and one set of static frames until the process is killed,
// and prints how many scans were recorded.
func recordForEver(connection string) error {
	b, err := bridges.MustRegistry(mcap.Factory{}).Open("mcap:"+connection, bridges.Env{})
	if err != nil {
		return err
	}
	static, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	if err != nil {
		return err
	}
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.SensorDataQoS})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := b.Connect(ctx); err != nil {
		return err
	}
	if err := static(ctx, frames()); err != nil {
		return err
	}
	for seq := 0; ; seq++ {
		if err := points(ctx, bridgetest.PointCloud(seq)); err != nil {
			return err
		}
		if (seq+1)%100 == 0 {
			fmt.Println("recorded", seq+1)
		}
	}
}

// frames is a set of static frames.
func frames() *sample.Transforms {
	return &sample.Transforms{Static: true, StampNs: 5, Transforms: []sample.Transform{
		{Header: sample.Header{StampNs: 5, FrameID: "base_link"}, ChildFrameID: "lidar"},
	}}
}
