package dataset

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Sensor is one sensor of a set: a camera, a lidar or a radar on the ego.
type Sensor struct {
	// Name is the sensor's in the rig, Type its type's id, such as "sensor.camera.rgb".
	Name, Type string
	// Modality is what it measures.
	Modality Modality
	// Channel is what the format calls it, such as "CAM_FRONT". Format.Channels sets it; "" leaves the sensor out.
	Channel string
	// Mount is the pose of the sensor's body frame (x forward, y left, z up) in base_link.
	Mount spatial.Pose
	// Rate is how often it fires.
	Rate simtime.Rate
	// Attribute returns an attribute's value by its name, as docs/sensors.md has them, and false where the type has none of that
	// name. It is never nil.
	Attribute func(name string) (value any, ok bool)
}

// Modality is what a sensor measures, in nuScenes's words.
type Modality string

// Modalities.
const (
	Camera Modality = "camera"
	Lidar  Modality = "lidar"
	Radar  Modality = "radar"
)

// Scene is a stretch of a run without a break. Another begins when time goes back, the sensors change, or it is
// as long as Options.Scene.
type Scene struct {
	// Run is the run's id, Number the scene's among those of the run's id in the set, from 0.
	Run    string
	Number int
	// Index is its number among all scenes of the set, from 0.
	Index int
	// Start is the stamp of its first key frame.
	Start simtime.Stamp
	// Sensors are those with a channel, in the rig's order.
	Sensors []*Sensor
}

// Frame is one key frame: all that is known of the instant Stamp. The core owns it. A Writer, and the jobs that it gave to Set.Go,
// may read it until they have returned, and change nothing.
type Frame struct {
	Stamp simtime.Stamp
	// Scene is the one it is in, Number its own there, from 0.
	Scene  *Scene
	Number int
	// Index is its number among all key frames of the set, from 0.
	Index int
	Ego   Ego
	// Pictures has one for each camera of the scene, Clouds one for each lidar, Radars one for each radar, in the rig's order.
	Pictures []Picture
	Clouds   []Cloud
	Radars   []RadarSweep
	// Objects are the actors that have a category, by rising id, without the ego. The options move some of them to Others, where
	// actors that are too far away have no Views.
	Objects, Others []Object
}

// Ego is the vehicle at an instant.
type Ego struct {
	// Pose is base_link's, the rear axle's centre on the ground, in the map frame.
	Pose spatial.Pose
	// Twist is in the map frame, m/s and rad/s, and Acceleration too, m/s².
	Twist        spatial.Twist
	Acceleration mgl64.Vec3
}

// Capture is when and where a sensor made what a frame has of it.
type Capture struct {
	Sensor *Sensor
	// Stamp is the frame's, or the one that is nearest to it among the sensor's, up to half its period away.
	Stamp simtime.Stamp
	// Ego is base_link's pose in the map frame at Stamp.
	Ego spatial.Pose
	// Twist is base_link's in the map frame, at the last instant of the world up to now, m/s and rad/s.
	Twist spatial.Twist
}

// SensorVelocity returns the velocity over ground of the sensor, in its body frame, m/s.
func (c *Capture) SensorVelocity() mgl64.Vec3 {
	arm := c.Ego.Rotate(c.Sensor.Mount.Position)
	over := c.Twist.Linear.Add(c.Twist.Angular.Cross(arm))
	return c.Ego.Compose(c.Sensor.Mount).Orientation.Conjugate().Rotate(over)
}

// Picture is a camera's part of a frame.
type Picture struct {
	Capture
	// Image is the picture: rgb8, bgr8 or bgra8.
	Image *sample.Image
	Info  *sample.CameraInfo
	// Instances has the actors' ids, 32SC1, as large as Image; nil for a Format that didn't want it.
	Instances *sample.Image
	// Semantics has the semantic tags, mono8, as large as Image; nil for a Format that didn't want it.
	Semantics *sample.Image
	// Boxes are the visible actors', by rising id; nil for a Format that didn't want them. Actors without a category
	// are among them.
	Boxes []sample.Box2D
}

// Cloud is a lidar's part of a frame. Its points are in the sensor's frame at Stamp, with the motion taken out, and no point of it
// is a miss.
type Cloud struct {
	Capture
	*sample.PointCloud
}

// RadarSweep is a radar's part of a frame.
type RadarSweep struct {
	Capture
	*sample.Radar
}

// Object is an actor in a frame.
type Object struct {
	ID     uint32
	TypeID string
	// Tag is CARLA's semantic tag, 0 where no sensor of the frame tells it.
	Tag uint8
	// Category is the format's, by Categories.
	Category string
	// Attribute is what a rule of map=FILE gives, "" where none does.
	Attribute string
	// Pose is the box's centre and orientation in the map frame: x forward, y left, z up.
	Pose spatial.Pose
	// Size is length (x), width (y) and height (z), metres.
	Size mgl64.Vec3
	// Twist and Acceleration are the actor's, in the map frame.
	Twist        spatial.Twist
	Acceleration mgl64.Vec3
	// LidarPoints counts the points of all lidars that carry the actor's id, RadarPoints the detections of all radars.
	LidarPoints, RadarPoints int
	// Visible is the share of the actor that all cameras together see, 0 to 1: 0 where no camera sees it, and -1 in a set
	// without boxes.
	Visible float64
	// Views has, for each of the frame's pictures, how the actor stands in it. Its length is that of Pictures.
	Views []View
}

// View is an object in a picture. Boxes are in pixels, (0, 0) the corner of the first pixel.
type View struct {
	// Pixels is how many show the object. If it is 0, so are Tight, Occlusion and Truncation.
	Pixels int
	// Tight bounds the visible pixels.
	Tight Rectangle
	// Amodal bounds the projection of the object's box, hidden or not. It is clipped at the near plane, but not to the picture. Empty
	// says that nothing of the box is before the camera, or that the picture's lens distorts. Framed bounds what of the projection is in
	// the picture, likewise.
	Amodal, Framed Rectangle
	// Occlusion is the share of the surface towards the camera, within the picture, that something else hides, 0 to 1.
	// Truncation is the share outside the picture.
	Occlusion, Truncation float64
}

// Rectangle is an axis-aligned box in a picture, pixels.
type Rectangle struct{ Left, Top, Right, Bottom float64 }

// Empty reports whether there is nothing in it.
func (r Rectangle) Empty() bool { return r.Right <= r.Left || r.Bottom <= r.Top }

// clip returns what of the rectangle lies in a picture.
func (r Rectangle) clip(width, height int) Rectangle {
	return Rectangle{
		Left: max(r.Left, 0), Top: max(r.Top, 0), Right: min(r.Right, float64(width)), Bottom: min(r.Bottom, float64(height)),
	}
}
