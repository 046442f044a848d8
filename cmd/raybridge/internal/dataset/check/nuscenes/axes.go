package nuscenes

import (
	"image"
	"math"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// upright is the least cosine between up and the z axis of what stands upright: hills and ramps are within 30 degrees.
const upright = 0.866

// inOrderXYZW is the rotation whose numbers were written x, y, z, w.
func inOrderXYZW(q mgl64.Quat) mgl64.Quat {
	return mgl64.Quat{W: q.V[2], V: mgl64.Vec3{q.W, q.V[0], q.V[1]}}
}

// stands reports whether a rotation keeps z upward.
func stands(q mgl64.Quat) bool { return q.Rotate(mgl64.Vec3{0, 0, 1})[2] > upright }

// looks reports whether a camera's x points sideways and its y down, as those of upright cameras do.
func looks(q mgl64.Quat) bool {
	return math.Abs(q.Rotate(mgl64.Vec3{1, 0, 0})[2]) < 0.5 && q.Rotate(mgl64.Vec3{0, 1, 0})[2] < -0.5
}

// turned is a rotation of a row.
type turned struct {
	token, what string
	rotation    mgl64.Quat
	good        func(mgl64.Quat) bool
	rule        string
}

// checkAxes checks that rotations are such as vehicles and sensors have. What is measured with others is not worth a look: it returns false.
func (s *set) checkAxes(f *check.Findings) bool {
	before := f.Total(check.Error)
	var rows []turned
	for _, p := range s.egoPoseList {
		rows = append(rows, turned{p.token, "the ego", p.pose.Orientation, stands, ruleUpright})
	}
	s.checkTurned(f, "ego_pose", rows)
	rows = nil
	for _, a := range s.annotationList {
		rows = append(rows, turned{a.token, "the box", a.pose.Orientation, stands, ruleUpright})
	}
	s.checkTurned(f, "sample_annotation", rows)
	rows = nil
	for _, c := range s.calibratedList {
		switch {
		case c.sensor == nil:
		case c.sensor.modality == "camera":
			rows = append(rows, turned{c.token, c.sensor.channel, c.pose.Orientation, looks, ruleCameraAxes})
		default:
			rows = append(rows, turned{c.token, c.sensor.channel, c.pose.Orientation, stands, ruleUpright})
		}
	}
	if s.checkTurned(f, "calibrated_sensor", rows) {
		for _, c := range s.calibratedList {
			if c.sensor != nil {
				s.checkDirection(f, c)
			}
		}
	}
	return f.Total(check.Error) == before
}

// checkTurned checks the rotations of a table. Where all are right in the order x, y, z, w, and some in that only, that is the fault.
func (s *set) checkTurned(f *check.Findings, table string, rows []turned) (ok bool) {
	var wrong []turned
	ordered := true
	for _, t := range rows {
		if !t.good(t.rotation) {
			wrong = append(wrong, t)
		}
		ordered = ordered && t.good(inOrderXYZW(t.rotation))
	}
	file := s.table(table)
	if wrong != nil && ordered {
		f.Add(ruleQuaternionOrder, check.Place{File: file, Row: wrong[0].token}, "%d of %d rotations are upside down or tilted, and upright when they are read as x, y, z, w: w must stand first", len(wrong), len(rows))
		return false
	}
	for _, t := range wrong {
		at := check.Place{File: file, Row: t.token}
		if t.rule == ruleCameraAxes {
			f.Add(t.rule, at, "the y axis of %s points to %.2f in the ego's frame: a camera's x is right, its y down, its z forward", t.what, t.rotation.Rotate(mgl64.Vec3{0, 1, 0}))
		} else {
			f.Add(t.rule, at, "the z axis of %s points to %.2f: it must point up", t.what, t.rotation.Rotate(mgl64.Vec3{0, 0, 1}))
		}
	}
	return wrong == nil
}

// checkDirection compares where a sensor looks with its channel's name.
func (s *set) checkDirection(f *check.Findings, c *calibrated) {
	at := check.Place{File: s.table("calibrated_sensor"), Row: c.token}
	if right := c.pose.Rotate(mgl64.Vec3{1, 0, 0}); c.sensor.channel == "LIDAR_TOP" && right[1] > -0.5 {
		f.Add(ruleLidarAxes, at, "the x axis of LIDAR_TOP points to %.2f in the ego's frame: it must point right, as (0, -1, 0), and its y forward", right)
	}
	side, named := mgl64.Vec2{}, false
	for _, word := range strings.Split(c.sensor.channel, "_")[1:] {
		direction, ok := map[string]mgl64.Vec2{"FRONT": {1, 0}, "BACK": {-1, 0}, "LEFT": {0, 1}, "RIGHT": {0, -1}}[word]
		side, named = side.Add(direction), named || ok
	}
	if !named || c.sensor.modality == "lidar" || side.Len() == 0 {
		return
	}
	ahead := mgl64.Vec3{1, 0, 0}
	if c.sensor.modality == "camera" {
		ahead = mgl64.Vec3{0, 0, 1}
	}
	// Real ones are up to 45 degrees away from the corner that they are named after.
	if to := c.pose.Rotate(ahead).Vec2(); to.Len() > 0.1 && to.Normalize().Dot(side.Normalize()) < 0.3 {
		f.Add(ruleDirection, at, "%s looks to %.2f in the ego's frame", c.sensor.channel, c.pose.Rotate(ahead))
	}
}

// checkMapPlaces checks that the ego is where its map has a mask, and on what is drivable.
func (s *set) checkMapPlaces(f *check.Findings, masks map[*mapRow]*image.Gray) {
	ofLog := map[*logRow]*mapRow{}
	for _, m := range s.maps {
		for _, token := range m.logs {
			ofLog[s.logs[token]] = m
		}
	}
	for _, m := range s.maps {
		if masks[m] == nil {
			continue
		}
		on, all := int64(0), int64(0)
		for _, sample := range s.sampleList {
			if sample.scene == nil || ofLog[sample.scene.log] != m || len(sample.keys) == 0 || sample.keys[0].ego == nil {
				continue
			}
			ego := sample.keys[0].ego
			p, size := ego.pose.Position, masks[m].Rect.Size()
			// Row 0 of the picture is the largest y.
			column, row := int(math.Floor(p[0]*mapScale)), int(math.Floor(float64(size.Y)-p[1]*mapScale))
			all++
			if p[0] < 0 || p[1] < 0 || column >= size.X || row < 0 {
				f.Add(ruleMapPlace, check.Place{File: s.table("ego_pose"), Row: ego.token}, "the ego is at (%.1f, %.1f), outside of %s, which has 0 to %.1f by 0 to %.1f m", p[0], p[1], m.file,
					float64(size.X)/mapScale, float64(size.Y)/mapScale)
			} else if masks[m].GrayAt(column, min(row, size.Y-1)).Y == 255 {
				on++
			}
		}
		f.Measure("key frames in which the ego is on the map's drivable surface", on, all)
		if f.Count(ruleMapPlace) == 0 && 2*on < all {
			f.Add(ruleMapPlace, check.Place{File: m.file, Row: m.token}, "the ego is on the drivable surface in %d of %d key frames: row 0 is the largest y, and 10 pixels are a metre", on, all)
		}
	}
}

// velocity is a box's, by the centred difference of its neighbours as the devkit takes it; ok is false where it has none.
func (s *set) velocity(a *annotation) (v mgl64.Vec3, ok bool) {
	from, to := a, a
	if prev := s.annotations[a.prev]; prev != nil && prev.sample != nil {
		from = prev
	}
	if next := s.annotations[a.next]; next != nil && next.sample != nil {
		to = next
	}
	most := 1.5
	if from != a && to != a {
		most = 3
	}
	if from == to || a.sample == nil {
		return v, false
	}
	dt := float64(to.sample.stamp-from.sample.stamp) / 1e6
	if dt <= 0 || dt > most {
		return v, false
	}
	return to.pose.Position.Sub(from.pose.Position).Mul(1 / dt), true
}

// mobile are the beginnings of categories that move by themselves; others stay where they are.
var mobile = []string{"animal", "human.", "vehicle.", "movable_object.debris", "movable_object.pushable_pullable"}

func isMobile(category string) bool {
	return slices.ContainsFunc(mobile, func(begin string) bool { return strings.HasPrefix(category, begin) })
}

// isVehicle reports whether an instance is one that drives, and is longer than wide.
func (i *instance) isVehicle() bool {
	return i.category != nil && strings.HasPrefix(i.category.name, "vehicle.") && i.category.name != "vehicle.trailer"
}

// checkSizes compares sizes with what vehicles are like.
func (s *set) checkSizes(f *check.Findings) {
	for _, i := range s.instanceList {
		if !i.isVehicle() || len(i.boxes) == 0 {
			continue
		}
		if size := i.boxes[0].size; size[1] > 1.05*size[0] {
			f.Add(ruleSizeOrder, check.Place{File: s.table("sample_annotation"), Row: i.boxes[0].token}, "the %s is %.2f m long and %.2f m wide: size is width, length, height", i.category.name, size[0], size[1])
		}
	}
}

// checkMotion compares boxes with their neighbours in time.
func (s *set) checkMotion(f *check.Findings) {
	backward, moving := 0, 0
	var first *annotation
	for _, i := range s.instanceList {
		if i.category == nil || len(i.boxes) == 0 {
			continue
		}
		vehicle := i.isVehicle()
		sideways := 0
		for _, a := range i.boxes {
			at := check.Place{File: s.table("sample_annotation"), Row: a.token}
			v, ok := s.velocity(a)
			if !ok {
				continue
			}
			if v.Len() > 100 {
				f.Add(ruleSpeed, at, "the box moves with %.0f m/s", v.Len())
			}
			s.checkStays(f, at, a)
			if ahead := a.pose.Rotate(mgl64.Vec3{1, 0, 0}); vehicle && v.Vec2().Len() > 2 {
				moving++
				switch c := ahead.Vec2().Normalize().Dot(v.Vec2().Normalize()); {
				case c < -0.7:
					backward++
					if first == nil {
						first = a
					}
				case c < 0.7:
					sideways++
				}
			}
		}
		if sideways > len(i.boxes)/2 {
			f.Add(ruleHeading, check.Place{File: s.table("sample_annotation"), Row: i.boxes[0].token}, "the %s moves sideways in %d of %d key frames: the x axis of a box points along its length", i.category.name, sideways, len(i.boxes))
		}
	}
	if moving > 0 && 2*backward > moving {
		f.Add(ruleHeading, check.Place{File: s.table("sample_annotation"), Row: first.token}, "vehicles move backward in %d of %d boxes", backward, moving)
	}
}

// checkStays checks that what is parked or immobile is where it was.
func (s *set) checkStays(f *check.Findings, at check.Place, a *annotation) {
	next := s.annotations[a.next]
	if next == nil {
		return
	}
	parked := slices.Contains(a.attributes, "vehicle.parked") && slices.Contains(next.attributes, "vehicle.parked")
	if moved := next.pose.Position.Sub(a.pose.Position).Len(); moved > 0.5 && (parked || !isMobile(a.instance.category.name)) {
		f.Add(ruleStatic, at, "the %s stands still and is %.2f m away in the next key frame", a.instance.category.name, moved)
	}
}

// stays reports whether a box is known to stand still around its key frame.
func (s *set) stays(a *annotation) bool {
	v, ok := s.velocity(a)
	return ok && v.Len() < 0.02
}
