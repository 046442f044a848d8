package apollo

import (
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/internal/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
)

// detection2DArray has SVL's boxes: centre and size in pixels, the velocity as it is.
func detection2DArray(dst *apollopb.Detection2DArray, src *sample.Detections2D, _ *Map) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.CameraTimestamp, uint64(src.StampNs))
	resize(&dst.Detections, len(src.Boxes))
	for i := range src.Boxes {
		box, d := &src.Boxes[i], dst.Detections[i]
		d.Header = h
		set(&d.Id, box.ID)
		set(&d.Label, box.Label)
		set(&d.Score, float64(box.Score))
		b := part(&d.Bbox)
		set(&b.X, box.CenterX)
		set(&b.Y, box.CenterY)
		set(&b.Width, box.Width)
		set(&b.Height, box.Height)
		velocity := part(&d.Velocity)
		setVector3(&velocity.Linear, box.Twist.Linear)
		setVector3(&velocity.Angular, box.Twist.Angular)
	}
	return nil
}

func setVector3(field **apollopb.Vector3, v mgl64.Vec3) {
	p := part(field)
	set(&p.X, v[0])
	set(&p.Y, v[1])
	set(&p.Z, v[2])
}

func readVector3(v *apollopb.Vector3) mgl64.Vec3 { return mgl64.Vec3{v.GetX(), v.GetY(), v.GetZ()} }

// readDetection2DArray reads boxes; the picture's size isn't in the message.
func readDetection2DArray(dst *sample.Detections2D, src *apollopb.Detection2DArray, _ *Map) error {
	header, err := readHeader(src.GetHeader())
	if err != nil {
		return err
	}
	*dst = sample.Detections2D{Header: header, Boxes: make([]sample.Box2D, 0, len(src.GetDetections()))}
	for _, d := range src.GetDetections() {
		b := d.GetBbox()
		box := sample.Box2D{
			ID: d.GetId(), Label: d.GetLabel(), Score: float32(d.GetScore()),
			CenterX: b.GetX(), CenterY: b.GetY(), Width: b.GetWidth(), Height: b.GetHeight(),
		}
		twist := &box.Twist
		twist.Linear, twist.Angular = readVector3(d.GetVelocity().GetLinear()), readVector3(d.GetVelocity().GetAngular())
		if !finite(float64(b.GetX()), float64(b.GetY()), float64(b.GetWidth()), float64(b.GetHeight()), d.GetScore()) ||
			!finite(twist.Linear[:]...) || !finite(twist.Angular[:]...) {
			return fmt.Errorf("detection %d: %w", d.GetId(), ErrNumber)
		}
		dst.Boxes = append(dst.Boxes, box)
	}
	return nil
}
