package kitti

import (
	"strconv"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// A matrix34 is a 3x4 matrix, row by row.
type matrix34 [12]float64

// matrixOf returns a pose as a matrix from the child frame to the parent frame.
func matrixOf(p spatial.Pose) (m matrix34) {
	full := p.Mat4()
	for r := range 3 {
		for c := range 4 {
			m[4*r+c] = full.At(r, c) + 0 // no -0
		}
	}
	return m
}

// A calibration is how the sensors of a set stand to each other. The rectified frame is camera 2's optical frame, so that
// its projection has no fourth column.
type calibration struct {
	projections [4]matrix34 // P0 to P3, from the rectified frame to pixels
	lidar       matrix34    // from the lidar's frame to the rectified one
	imu         matrix34    // from base_link, where an IMU would stand, to the lidar's frame
}

// A mounting is a camera's place on the vehicle.
type mounting struct {
	projection matrix34     // of its optical frame to pixels, of which the first one's centre is (0, 0)
	mount      spatial.Pose // of its body frame in base_link
}

// optical is the pose of the camera's optical frame in base_link.
func (m *mounting) optical() spatial.Pose { return m.mount.Compose(spatial.OpticalInBody()) }

// calibrate returns the calibration of a camera, a second one that looks the same way or nil, and a lidar, whose pose in
// base_link is given. P0 and P1, of KITTI's grey cameras, are P2, and so is P3 if there is no second camera.
func calibrate(camera, second *mounting, lidar spatial.Pose) calibration {
	p := camera.projection
	c := calibration{projections: [4]matrix34{p, p, p, p}}
	reference := camera.optical().Inverse()
	if second != nil {
		c.projections[3] = beside(second.projection, reference.Apply(second.optical().Position))
	}
	c.lidar, c.imu = matrixOf(reference.Compose(lidar)), matrixOf(lidar.Inverse())
	return c
}

// beside returns the projection of a camera that stands at a place in the rectified frame and looks along its z axis: K
// times a shift by the place.
func beside(p matrix34, at mgl64.Vec3) matrix34 {
	for r := range 3 {
		p[4*r+3] = -(p[4*r]*at[0] + p[4*r+1]*at[1] + p[4*r+2]*at[2]) + 0
	}
	return p
}

var identity33 = []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}

// object writes the calibration as a file of the object set: readers go by the number of a line.
func (c *calibration) object() []byte {
	dst := c.appendProjections(nil)
	dst = appendRow(dst, "R0_rect", identity33)
	dst = appendRow(dst, "Tr_velo_to_cam", c.lidar[:])
	return appendRow(dst, "Tr_imu_to_velo", c.imu[:])
}

// odometry writes the calibration as calib.txt of a sequence.
func (c *calibration) odometry() []byte {
	return appendRow(c.appendProjections(nil), "Tr", c.lidar[:])
}

func (c *calibration) appendProjections(dst []byte) []byte {
	for i := range c.projections {
		dst = appendRow(dst, "P"+strconv.Itoa(i), c.projections[i][:])
	}
	return dst
}

func appendRow(dst []byte, key string, numbers []float64) []byte {
	return append(appendNumbers(append(dst, key+":"...), numbers), '\n')
}

// appendNumbers writes numbers as KITTI's files do, a blank ahead of each.
func appendNumbers(dst []byte, numbers []float64) []byte {
	for _, v := range numbers {
		dst = strconv.AppendFloat(append(dst, ' '), v, 'e', 12, 64)
	}
	return dst
}

// appendPose writes a line of poses: without a key, and so without a blank at its beginning.
func appendPose(dst []byte, camera spatial.Pose) []byte {
	m := matrixOf(camera)
	return append(append(dst, appendNumbers(nil, m[:])[1:]...), '\n')
}
