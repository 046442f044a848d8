package rossample

import (
	"strconv"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// FromLgsvlDetection2DArray sets dst to the boxes, reusing dst's slice. The size of the
// picture, the actors' types and what is visible of them aren't in the message.
func FromLgsvlDetection2DArray(dst *sample.Detections2D, src *ros.LgsvlDetection2DArray) error {
	*dst = sample.Detections2D{Header: ros.SampleHeader(&src.Header), Boxes: dst.Boxes[:0]}
	for i := range src.Detections {
		d := &src.Detections[i]
		dst.Boxes = append(dst.Boxes, sample.Box2D{
			ID: d.ID, Label: d.Label, Score: d.Score, Twist: fromTwist(&d.Velocity),
			CenterX: d.BBox.X, CenterY: d.BBox.Y, Width: d.BBox.Width, Height: d.BBox.Height,
		})
	}
	return nil
}

// FromLgsvlDetection3DArray sets dst to the boxes, reusing dst's slice.
func FromLgsvlDetection3DArray(dst *sample.Detections3D, src *ros.LgsvlDetection3DArray) error {
	*dst = sample.Detections3D{Header: ros.SampleHeader(&src.Header), Boxes: dst.Boxes[:0]}
	for i := range src.Detections {
		d := &src.Detections[i]
		dst.Boxes = append(dst.Boxes, sample.Box3D{
			ID: d.ID, Label: d.Label, Score: d.Score, Twist: fromTwist(&d.Velocity),
			Pose: fromPose(&d.BBox.Position), Size: fromVector3(d.BBox.Size),
		})
	}
	return nil
}

// likeliest returns the class and the score of the best hypothesis; the first of equals.
func likeliest(list []ros.ObjectHypothesisWithPose) (string, float32) {
	var best ros.ObjectHypothesis
	for i := range list {
		if h := &list[i].Hypothesis; i == 0 || h.Score > best.Score {
			best = *h
		}
	}
	return best.ClassID, float32(best.Score)
}

// fromID reads an actor's id, as Detection2DArray writes it. Trackers may give any text,
// or none: what is no number below 2^32 is 0.
func fromID(text string) uint32 {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(id)
}

// FromDetection2DArray sets dst to the boxes, each with its likeliest class as label,
// reusing dst's slice. Boxes that aren't upright lose their angle; velocities, the size
// of the picture and what is visible aren't in the message.
func FromDetection2DArray(dst *sample.Detections2D, src *ros.Detection2DArray) error {
	*dst = sample.Detections2D{Header: ros.SampleHeader(&src.Header), Boxes: dst.Boxes[:0]}
	for i := range src.Detections {
		d := &src.Detections[i]
		box := sample.Box2D{
			ID: fromID(d.ID), CenterX: float32(d.BBox.Center.Position.X), CenterY: float32(d.BBox.Center.Position.Y),
			Width: float32(d.BBox.SizeX), Height: float32(d.BBox.SizeY),
		}
		box.Label, box.Score = likeliest(d.Results)
		dst.Boxes = append(dst.Boxes, box)
	}
	return nil
}

// FromDetection3DArray sets dst to the boxes, each with its likeliest class as label,
// reusing dst's slice. Velocities aren't in the message.
func FromDetection3DArray(dst *sample.Detections3D, src *ros.Detection3DArray) error {
	*dst = sample.Detections3D{Header: ros.SampleHeader(&src.Header), Boxes: dst.Boxes[:0]}
	for i := range src.Detections {
		d := &src.Detections[i]
		box := sample.Box3D{ID: fromID(d.ID), Pose: fromPose(&d.BBox.Center), Size: fromVector3(d.BBox.Size)}
		box.Label, box.Score = likeliest(d.Results)
		dst.Boxes = append(dst.Boxes, box)
	}
	return nil
}
