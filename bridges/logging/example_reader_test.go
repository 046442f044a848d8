package logging_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Reads the accelerations of a log.
func ExampleReader() {
	dir, _ := os.MkdirTemp("", "log")
	defer os.RemoveAll(dir)
	drive(dir)

	log, err := logging.Open(filepath.Join(dir, "drive.txt.gz"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	for {
		e, err := log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // a log that was cut off ends with io.ErrUnexpectedEOF
			fmt.Println(err)
			return
		}
		var imu struct {
			StampNs      int64
			Acceleration struct{ X, Y, Z logging.Float }
		}
		if e.Type != "ImuData" {
			continue
		}
		if err := json.Unmarshal(e.JSON, &imu); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Topic, imu.StampNs, imu.Acceleration.Z)
	}
	// Output:
	// /imu 10000000 9.80665
	// /imu 20000000 NaN
}

// drive logs two messages.
func drive(dir string) {
	b, _ := bridges.MustRegistry(logging.Factory{}).Open("logging:drive", bridges.Env{OutDir: dir})
	publish, _ := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	_ = b.Connect(context.Background())
	for i, z := range []float64{9.80665, math.NaN()} {
		_ = publish(context.Background(), &sample.Imu{
			Header: sample.Header{Stamp: simtime.Stamp(int64(i+1) * 10_000_000)}, LinearAcceleration: mgl64.Vec3{0, 0, z},
		})
	}
	_ = b.Close(context.Background())
}
