package camera_test

import (
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func ExampleLens() {
	lens, err := camera.NewLens(640, 480, 90)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A traffic light 20 m ahead, 2 m to the left and 3 m above the camera.
	inBody := mgl64.Vec3{20, 2, 3}
	inOptical := spatial.OpticalInBody().Inverse().Apply(inBody)
	u, v, ok := lens.Project(inOptical)
	fmt.Printf("pixel (%.1f, %.1f), in front: %v, on the picture: %v\n", u, v, ok, lens.Contains(u, v))

	// A depth picture's pixel leads back to the point: the ray's z is 1.
	back := spatial.OpticalInBody().Apply(lens.Ray(u, v).Mul(20))
	fmt.Printf("%.1f m ahead, %.1f m left, %.1f m up\n", back[0], back[1], back[2])
	// Output:
	// pixel (287.5, 191.5), in front: true, on the picture: true
	// 20.0 m ahead, 2.0 m left, 3.0 m up
}

func ExampleLens_Info() {
	lens, err := camera.NewLens(800, 600, 90)
	if err != nil {
		fmt.Println(err)
		return
	}
	var info sample.CameraInfo
	lens.Info(camera.CenterOrigin, &info)
	fmt.Printf("ROS:   cx %.1f, cy %.1f\n", info.K[2], info.K[5])
	lens.Info(camera.CornerOrigin, &info)
	fmt.Printf("CARLA: cx %.1f, cy %.1f\n", info.K[2], info.K[5])
	// Output:
	// ROS:   cx 399.5, cy 299.5
	// CARLA: cx 400.0, cy 300.0
}

// Some of the cameras in a registry of their own.
func Example_registry() {
	registry, err := sensors.NewRegistry(camera.RGBDefinition, camera.DepthDefinition, camera.DVSDefinition)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range registry.Match("sensor.camera.*") {
		fmt.Println(d.ID)
	}
	settings := camera.RGBDefinition.NewSettings()
	fmt.Println(settings.Set("image_size_x", -5))
	// Output:
	// sensor.camera.depth
	// sensor.camera.dvs
	// sensor.camera.rgb
	// bad attribute value: image_size_x is -5, the range is 1 to 16384 px
}
