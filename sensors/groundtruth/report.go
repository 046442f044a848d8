package groundtruth

import (
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// report2D makes the boxes in a picture.
type report2D struct {
	detector *detector
	out      *sensors.Output[*sample.Detections2D]
	message  sample.Detections2D // reused: outputs copy what they keep
}

func (r *report2D) open(env *sensors.Env) (err error) {
	r.out, err = sensors.OutputOf[*sample.Detections2D](env, OutputBoxes)
	return err
}

func (r *report2D) publish(f *finding, tallies []tally) {
	lens := &r.detector.picture.sight.Lens
	m := &r.message
	m.Header, m.Width, m.Height, m.Boxes = f.header, lens.Width, lens.Height, m.Boxes[:0]
	for i := range f.objects {
		o := &f.objects[i]
		n := &tallies[o.place]
		if n.Pixels == 0 {
			continue
		}
		t := &r.detector.survey.targets.list[o.place]
		m.Boxes = append(m.Boxes, sample.Box2D{
			ID: t.actor.ID, TypeID: t.actor.TypeID, Label: t.label, Tag: uint8(t.tag), Score: 1,
			// A pixel reaches from its number to the next.
			CenterX: float32(n.Left+n.Right+1) / 2, CenterY: float32(n.Top+n.Bottom+1) / 2,
			Width: float32(n.Right + 1 - n.Left), Height: float32(n.Bottom + 1 - n.Top),
			Pixels:     n.Pixels,
			Occlusion:  share(int(n.Hidden), o.asked),
			Truncation: share(o.facing-o.asked, o.facing),
			Twist:      twistIn(f.header.Pose, &o.state),
		})
	}
	r.out.TryQueue(f.at, m)
}

// onGround is how near to its owner's lowest point a sensor sees nothing but the ground,
// metres.
const onGround = 0.1

// report3D makes the boxes in space.
type report3D struct {
	detector *detector
	hidden   bool // those of which nothing can be seen too
	out      *sensors.Output[*sample.Detections3D]
	message  sample.Detections3D // reused: outputs copy what they keep
}

func (r *report3D) open(env *sensors.Env) (err error) {
	if box, ok := env.History.Box(env.Owner); ok && !r.hidden && r.detector.spec.Mount.Position[2] < box.Center[2]-box.Half[2]+onGround {
		env.Log.Warn("the sensor looks from the ground, which hides everything from it: mount it higher, or set hidden")
	}
	r.out, err = sensors.OutputOf[*sample.Detections3D](env, OutputBoxes)
	return err
}

func (r *report3D) publish(f *finding, tallies []tally) {
	m := &r.message
	m.Header, m.Boxes = f.header, m.Boxes[:0]
	toSensor := f.header.Pose.Inverse()
	for i := range f.objects {
		o := &f.objects[i]
		hidden := int(tallies[o.place].Hidden)
		if o.asked > 0 && hidden == o.asked && !r.hidden {
			continue
		}
		t := &r.detector.survey.targets.list[o.place]
		m.Boxes = append(m.Boxes, sample.Box3D{
			ID: t.actor.ID, TypeID: t.actor.TypeID, Label: t.label, Tag: uint8(t.tag), Score: 1,
			Pose: toSensor.Compose(o.box.Pose), Size: o.box.Half.Mul(2),
			Occlusion:    share(hidden, o.asked),
			Twist:        twistIn(f.header.Pose, &o.state),
			Acceleration: toSensor.Rotate(o.state.Acceleration),
		})
	}
	r.out.TryQueue(f.at, m)
}

// share returns a part of a whole, 0 of nothing.
func share(part, whole int) float32 {
	if whole == 0 {
		return 0
	}
	return float32(part) / float32(whole)
}
