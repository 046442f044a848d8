package dataset

import (
	"slices"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// assemble makes a key frame of what was gathered.
func (r *recording) assemble(g *gathering) *Frame {
	f := &Frame{Stamp: g.at, Scene: g.scene}
	for i, s := range g.scene.Sensors {
		p := &g.parts[i]
		switch s.Modality {
		case Camera:
			picture := Picture{Capture: capture(s, &p.image.Header, g.state), Image: p.image, Info: p.info, Instances: p.instances, Semantics: p.semantics}
			if p.boxes != nil {
				picture.Boxes = p.boxes.Boxes
			}
			f.Pictures = append(f.Pictures, picture)
		case Lidar:
			f.Clouds = append(f.Clouds, Cloud{capture(s, &p.cloud.Header, g.state), p.cloud})
		case Radar:
			f.Radars = append(f.Radars, RadarSweep{capture(s, &p.radar.Header, g.state), p.radar})
		}
	}
	r.objects(f, g)
	return f
}

// objects fills in the ego and the actors.
func (r *recording) objects(f *Frame, g *gathering) {
	found := f.returns()
	for i := range g.state.Actors {
		a := &g.state.Actors[i]
		if a.ID == 0 {
			f.Ego = Ego{Pose: a.Pose, Twist: a.Twist, Acceleration: a.Acceleration}
			continue
		}
		about := found[a.ID]
		rule, ok := r.rules.Of(a.TypeID, about.tag)
		if !ok {
			r.leaveOut(a)
			continue
		}
		o := Object{
			ID: a.ID, TypeID: a.TypeID, Tag: about.tag, Category: rule.Category, Attribute: rule.Attribute,
			Pose: spatial.Pose{Position: a.Pose.Apply(a.BoxCenter), Orientation: a.Pose.Orientation}, Size: a.BoxHalf.Mul(2),
			Twist: a.Twist, Acceleration: a.Acceleration, LidarPoints: about.lidar, RadarPoints: about.radar, Visible: -1,
		}
		if o.Pose.Position.Sub(f.Ego.Pose.Position).Len() > r.options.MaxDistance {
			f.Others = append(f.Others, o)
			continue
		}
		o.Views = make([]View, len(f.Pictures))
		for i := range f.Pictures {
			o.Views[i] = f.Pictures[i].view(&o)
		}
		o.Visible = visible(f.Pictures, o.Views)
		if r.kept(&o) {
			f.Objects = append(f.Objects, o)
		} else {
			f.Others = append(f.Others, o)
		}
	}
	for _, list := range [][]Object{f.Objects, f.Others} {
		slices.SortFunc(list, func(a, b Object) int { return int(int64(a.ID) - int64(b.ID)) })
	}
}

// leaveOut says once of each type of moving actors that it has no category.
func (r *recording) leaveOut(a *sample.ActorState) {
	if r.unknown[a.TypeID] || a.Kind != sample.KindVehicle && a.Kind != sample.KindWalker || len(r.unknown) >= 100 {
		return
	}
	if r.unknown == nil {
		r.unknown = map[string]bool{}
	}
	r.unknown[a.TypeID] = true
	r.set.Log.Info("the data set leaves actors of a type out: a rule of map=FILE may give them a category", "set", r.set.Dir, "type", a.TypeID)
}

// returnsOf is what the sensors of a frame have of an actor.
type returnsOf struct {
	lidar, radar int
	tag          uint8
}

// returns counts the points and detections of each actor.
func (f *Frame) returns() map[uint32]returnsOf {
	found := map[uint32]returnsOf{}
	for i := range f.Clouds {
		points := f.Clouds[i].Points
		for k := 0; k < len(points); { // those of one actor are often neighbours
			first, id := k, points[k].Instance
			for k < len(points) && points[k].Instance == id {
				k++
			}
			if id == 0 {
				continue
			}
			of := found[id]
			of.lidar += k - first
			of.tag = points[first].Tag
			found[id] = of
		}
	}
	for i := range f.Radars {
		for _, d := range f.Radars[i].Detections {
			if d.Instance != 0 {
				of := found[d.Instance]
				of.radar++
				of.tag = d.Tag
				found[d.Instance] = of
			}
		}
	}
	for i := range f.Pictures {
		for k := range f.Pictures[i].Boxes {
			b := &f.Pictures[i].Boxes[k]
			of := found[b.ID]
			of.tag = b.Tag
			found[b.ID] = of
		}
	}
	return found
}

// kept applies the thresholds of the options.
func (r *recording) kept(o *Object) bool {
	if r.options.MinPixels == 0 && r.options.MinHeight == 0 && r.options.MinVisible == 0 {
		return true
	}
	pixels, height := 0, 0.0
	for i := range o.Views {
		pixels = max(pixels, o.Views[i].Pixels)
		height = max(height, o.Views[i].Tight.Bottom-o.Views[i].Tight.Top)
	}
	return pixels >= r.options.MinPixels && height >= r.options.MinHeight && o.Visible >= r.options.MinVisible
}

// visible is the share of an object that all cameras see together. Its parts within the pictures add up to it, and are hidden as
// much as they are on average, so that a part which two cameras see counts once.
func visible(pictures []Picture, views []View) float64 {
	known := false
	within, seen := 0.0, 0.0
	for i := range views {
		known = known || pictures[i].Boxes != nil
		if v := &views[i]; v.Pixels > 0 {
			within += 1 - v.Truncation
			seen += (1 - v.Truncation) * (1 - v.Occlusion)
		}
	}
	switch {
	case !known:
		return -1
	case within <= 0:
		return 0
	}
	return min(1, seen/within*min(1, within))
}
