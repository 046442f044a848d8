package nuscenes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
	"github.com/raybridge/raybridge/spatial"
)

// Margins in metres.
const (
	margin      = 0.1   // by which a measured point may miss its box
	exact       = 0.002 // for rounding
	clearance   = 0.15  // above the ground, whose points lie in the lower end of boxes
	radarMargin = 0.5
	nearby      = 0.5 // around a box, where points of its category are taken for its own
)

// region is a box that tells which points it holds.
type region struct {
	inverse mgl64.Mat3 // global to the box's axes
	centre  mgl64.Vec3
	half    mgl64.Vec3
}

func regionOf(pose spatial.Pose, size mgl64.Vec3) region {
	return region{pose.Orientation.Conjugate().Mat4().Mat3(), pose.Position, size.Mul(0.5)}
}

// local returns a global point in the box's axes.
func (r *region) local(p mgl64.Vec3) mgl64.Vec3 { return r.inverse.Mul3x1(p.Sub(r.centre)) }

// holds reports whether the region, larger by a margin on all sides, has a point in its own axes.
func (r *region) holds(local mgl64.Vec3, margin float64) bool {
	return math.Abs(local[0]) <= r.half[0]+margin && math.Abs(local[1]) <= r.half[1]+margin && math.Abs(local[2]) <= r.half[2]+margin
}

// clear reports whether the region has a point above the ground.
func (r *region) clear(local mgl64.Vec3) bool {
	return r.holds(local, exact) && local[2] >= -r.half[2]+clearance
}

// tally is what points say of one box.
type tally struct {
	box *annotation
	region
	class int // lidarseg's, -1 for none
	// inner, above and outer count the points well within the box, above the ground in it, and in it with the margin. What has the
	// label of another category is not in above: a bicycle's box holds points of the rack that it leans at.
	inner, above, outer int
	// own are points around it that have its category and are in no other box of that, and held are those of them in the box.
	own, held int
	// points are those above the ground, global.
	points []mgl64.Vec3
}

// share is how many of the points that belong to a box it holds: those around it with its label, or as many as its row says.
func (t *tally) share() (part, whole int64) {
	if t.own > 0 {
		return int64(t.held), int64(t.own)
	}
	return min(int64(t.outer), t.box.lidar), t.box.lidar
}

// fewest is how many points a box must have for its share to count.
const fewest = 5

// geometry compares what sensors measured with the boxes.
type geometry struct {
	*set
	found *check.Findings
	// instant is whether lidars measure at one instant; else what moves isn't judged.
	instant bool
	// share is the sum of the boxes' shares of their points, and boxes is their number.
	share float64
	boxes int
	// late are findings of single boxes. They follow from a fault in all boxes, and are left out where there is one.
	late []func()
	// looked are the first samples with boxes, for a closer look.
	looked []*sample

	radarFit, radarAll int64
}

// mostLooked is how many samples a closer look takes.
const mostLooked = 20

// checkGeometry reads all key frames' files. With points false, it checks the files alone. It returns whether all boxes or lidars are wrong
// in one way, which is a finding.
func (s *set) checkGeometry(ctx context.Context, f *check.Findings, points bool) (explained bool, err error) {
	g := geometry{set: s, found: f, instant: true}
	for _, n := range s.sensorList {
		if n.modality == "lidar" && (n.rolling == nil || *n.rolling) {
			g.instant = false
		}
	}
	for _, m := range s.sampleList {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		g.checkSample(m, points)
	}
	if !points {
		return false, nil
	}
	if g.share < 0.9*float64(g.boxes) && g.explain() {
		return true, nil
	}
	for _, add := range g.late {
		add()
	}
	if g.radarAll > 0 {
		f.Measure("radar returns in moving boxes with the boxes' velocity", g.radarFit, g.radarAll)
		if g.radarAll >= 10 && 2*g.radarFit < g.radarAll {
			f.Add(ruleRadarVelocity, check.Place{File: s.table("sample_data")}, "%d of %d radar returns in moving boxes have their velocity: vx_comp and vy_comp are over ground, in the sensor's frame", g.radarFit, g.radarAll)
		}
	}
	return false, nil
}

func (g *geometry) checkSample(m *sample, points bool) {
	var clouds []cloud
	var radars []*data
	returns := map[*data][]radarReturn{}
	for _, d := range m.keys {
		switch d.channel().sensor.modality {
		case "camera":
			g.checkPicture(g.found, d)
		case "lidar":
			clouds = append(clouds, g.readCloud(g.found, d))
		case "radar":
			radars = append(radars, d)
			returns[d] = g.radarReturns(g.found, d)
		}
	}
	if !points || len(m.boxes) == 0 {
		return
	}
	tallies := g.count(m, clouds, truth)
	measured := slices.ContainsFunc(clouds, func(c cloud) bool { return c.points != nil && c.data.ego != nil })
	for i := range tallies {
		if measured {
			g.judge(&tallies[i])
		}
	}
	if measured && len(g.looked) < mostLooked {
		g.looked = append(g.looked, m)
	}
	g.countRadar(tallies, radars, returns)
	for _, d := range m.keys {
		if d.channel().sensor.modality == "camera" {
			g.checkPictureBoxes(tallies, d)
		}
	}
}

// class is the index of the box's category where labels have it, else -1.
func (a *annotation) class() int {
	if c := a.instance.category; c.index >= 0 {
		return c.index
	}
	return -1
}

// count counts the points of clouds in and around a sample's boxes, as a hypothesis has them.
func (g *geometry) count(m *sample, clouds []cloud, h hypothesis) []tally {
	tallies := make([]tally, len(m.boxes))
	for i, a := range m.boxes {
		pose, size := h.box(g.set, a)
		tallies[i] = tally{box: a, region: regionOf(pose, size), class: a.class()}
	}
	for _, c := range clouds {
		if c.data.ego == nil || c.points == nil {
			continue
		}
		toGlobal := h.sensor(g.set, c.data)
		turn := toGlobal.Orientation.Mat4().Mat3()
		for i, p := range c.points {
			global := turn.Mul3x1(h.point(p)).Add(toGlobal.Position)
			class := -1
			if c.class != nil {
				class = int(c.class[i])
			}
			g.countPoint(tallies, global, class)
		}
	}
	return tallies
}

// countPoint counts one global point. Class is lidarseg's, -1 for unknown.
func (g *geometry) countPoint(tallies []tally, p mgl64.Vec3, class int) {
	owner, taken := -1, false
	for i := range tallies {
		t := &tallies[i]
		d := p.Sub(t.centre)
		reach := t.half.Len() + t.half[2] + nearby
		if d[0] > reach || d[0] < -reach || d[1] > reach || d[1] < -reach || d[2] > reach || d[2] < -reach {
			continue
		}
		local := t.local(p)
		if t.holds(local, margin) {
			t.outer++
			if t.holds(local, -margin) {
				t.inner++
			}
			if t.clear(local) {
				t.points = append(t.points, p)
				if class < 0 || t.class < 0 || class == t.class {
					t.above++
				}
			}
			if class >= 0 && class == t.class {
				t.own++
				t.held++
				taken = true
			}
		} else if class >= 0 && class == t.class {
			owner = i
		}
	}
	if owner >= 0 && !taken {
		tallies[owner].own++
	}
}

// judge compares a box's counts with its row.
func (g *geometry) judge(t *tally) {
	a := t.box
	part, whole := t.share()
	still := g.stays(a)
	if !g.instant && !still {
		g.found.Measure("points in the boxes of what moves", part, whole)
		return
	}
	g.found.Measure("points in the boxes that they belong to", part, whole)
	if whole >= fewest {
		g.share += float64(part) / float64(whole)
		g.boxes++
	}
	at := check.Place{File: g.table("sample_annotation"), Row: a.token}
	late := func(rule, format string, args ...any) {
		g.late = append(g.late, func() { g.found.Add(rule, at, format, args...) })
	}
	switch {
	case t.own >= 2*fewest && 2*t.held < t.own:
		late(rulePointsInBox, "the box of the %s holds %d of the %d points around it that have its label", a.instance.category.name, t.held, t.own)
	case a.lidar > int64(t.outer) || float64(a.lidar) < 0.9*float64(t.above)-2:
		late(ruleLidarPoints, "num_lidar_pts is %d: the clouds have %d points in the box, %d of its own above the ground, and %d within %g m", a.lidar, t.inner, t.above, t.outer, margin)
	}
}

// countRadar compares a sample's radar returns with its boxes.
func (g *geometry) countRadar(tallies []tally, radars []*data, all map[*data][]radarReturn) {
	if len(radars) == 0 {
		return
	}
	for i := range tallies {
		t := &tallies[i]
		v, known := g.velocity(t.box)
		inner, outer := 0, 0
		for _, d := range radars {
			if d.ego == nil {
				continue
			}
			toGlobal := d.ego.pose.Compose(d.sensor.pose)
			dt := float64(d.stamp-t.box.sample.stamp) / 1e6
			for k := range all[d] {
				r := &all[d][k]
				if r.none() {
					continue
				}
				local := t.local(toGlobal.Apply(r.at).Sub(v.Mul(dt)))
				if r.at[2] == 0 { // the radar doesn't measure the height
					local[2] = 0
				}
				if t.holds(local, -radarMargin) {
					inner++
				}
				if !t.holds(local, radarMargin) {
					continue
				}
				outer++
				if known && v.Len() > 2 {
					g.countVelocity(r, toGlobal.Orientation.Conjugate().Rotate(v))
				}
			}
		}
		if n := t.box.radar; n < int64(inner) || n > int64(outer) {
			at, category := check.Place{File: g.table("sample_annotation"), Row: t.box.token}, t.box.instance.category.name
			g.late = append(g.late, func() {
				g.found.Add(ruleRadarPoints, at, "num_radar_pts of the %s is %d: the radars have %d returns well within the box, %d within %g m", category, n, inner, outer, radarMargin)
			})
		}
	}
}

// countVelocity compares a return with the velocity of its box, in the sensor's frame, along the ray: a radar measures no other part.
func (g *geometry) countVelocity(r *radarReturn, box mgl64.Vec3) {
	ray := r.at.Vec2()
	if ray.Len() < 1 {
		return
	}
	ray = ray.Normalize()
	want, got := box.Vec2().Dot(ray), mgl64.Vec2(r.velocity).Dot(ray)
	g.radarAll++
	if math.Abs(want-got) <= max(1, 0.2*math.Abs(want)) {
		g.radarFit++
	}
}

// hypothesis is a mistake that a writer may have made, undone.
type hypothesis struct {
	rule, says string
	box        func(*set, *annotation) (spatial.Pose, mgl64.Vec3)
	sensor     func(*set, *data) spatial.Pose // to global
	point      func(mgl64.Vec3) mgl64.Vec3
}

func (h hypothesis) filled() hypothesis {
	if h.box == nil {
		h.box = func(_ *set, a *annotation) (spatial.Pose, mgl64.Vec3) { return a.pose, a.size }
	}
	if h.sensor == nil {
		h.sensor = func(_ *set, d *data) spatial.Pose { return d.ego.pose.Compose(d.sensor.pose) }
	}
	if h.point == nil {
		h.point = func(p mgl64.Vec3) mgl64.Vec3 { return p }
	}
	return h
}

// truth takes all as it is written.
var truth = hypothesis{}.filled()

// turnedBy returns a box or mount with another orientation.
func turnedBy(p spatial.Pose, q mgl64.Quat) spatial.Pose {
	return spatial.Pose{Position: p.Position, Orientation: q}
}

func yaw(degrees float64) mgl64.Quat {
	return mgl64.QuatRotate(mgl64.DegToRad(degrees), mgl64.Vec3{0, 0, 1})
}

// mistakes are the hypotheses that explain tries.
func mistakes() (all []hypothesis) {
	box := func(rule, says string, change func(*set, *annotation) spatial.Pose) {
		all = append(all, hypothesis{rule: rule, says: says, box: func(s *set, a *annotation) (spatial.Pose, mgl64.Vec3) { return change(s, a), a.size }})
	}
	raise := func(share float64) func(*set, *annotation) spatial.Pose {
		return func(_ *set, a *annotation) spatial.Pose {
			return a.pose.Compose(spatial.Pose{Position: mgl64.Vec3{0, 0, share * a.size[2]}, Orientation: mgl64.QuatIdent()})
		}
	}
	box(ruleHeading, "turned by 90 degrees", func(_ *set, a *annotation) spatial.Pose { return turnedBy(a.pose, a.pose.Orientation.Mul(yaw(90))) })
	box(ruleBoxCentre, "moved up by half their height: translation is the centre, not the bottom", raise(0.5))
	box(ruleBoxCentre, "moved down by half their height: translation is the centre, not the top", raise(-0.5))
	box(ruleHeading, "turned the other way round: a rotation is the box's in the global frame", func(_ *set, a *annotation) spatial.Pose {
		return turnedBy(a.pose, a.pose.Orientation.Conjugate())
	})
	box(ruleBoxCentre, "moved from the ego's frame to the global one", func(_ *set, a *annotation) spatial.Pose {
		for _, d := range a.sample.keys {
			if d.ego != nil && d.sensor.sensor.modality == "lidar" {
				return d.ego.pose.Compose(a.pose)
			}
		}
		return a.pose
	})
	sensor := func(says string, change func(s *set, d *data) spatial.Pose) {
		all = append(all, hypothesis{rule: ruleLidarPose, says: says, sensor: change})
	}
	for _, degrees := range []float64{90, -90, 180} {
		sensor(fmt.Sprintf("if lidars are turned by %g degrees", degrees), func(_ *set, d *data) spatial.Pose {
			return d.ego.pose.Compose(turnedBy(d.sensor.pose, d.sensor.pose.Orientation.Mul(yaw(degrees))))
		})
	}
	sensor("if calibrated_sensor is inverted: it leads from the sensor to the ego", func(_ *set, d *data) spatial.Pose {
		return d.ego.pose.Compose(d.sensor.pose.Inverse())
	})
	sensor("without calibrated_sensor: points are in the sensor's frame", func(_ *set, d *data) spatial.Pose { return d.ego.pose })
	sensor("if ego_pose is inverted: it leads from the ego to the global frame", func(_ *set, d *data) spatial.Pose {
		return d.ego.pose.Inverse().Compose(d.sensor.pose)
	})
	sensor("if the rotations of ego_pose are inverted: they lead from the ego to the global frame", func(_ *set, d *data) spatial.Pose {
		return turnedBy(d.ego.pose, d.ego.pose.Orientation.Conjugate()).Compose(d.sensor.pose)
	})
	sensor("without ego_pose: points are in the sensor's frame", func(_ *set, d *data) spatial.Pose { return d.sensor.pose })
	neighbour := func(token func(*data) string) func(s *set, d *data) spatial.Pose {
		return func(s *set, d *data) spatial.Pose {
			if other := s.datas[token(d)]; other != nil && other.ego != nil {
				d = &data{ego: other.ego, sensor: d.sensor}
			}
			return d.ego.pose.Compose(d.sensor.pose)
		}
	}
	sensor("with the ego_pose of the scan before", neighbour(func(d *data) string { return d.prev }))
	sensor("with the ego_pose of the scan behind", neighbour(func(d *data) string { return d.next }))
	point := func(says string, change func(mgl64.Vec3) mgl64.Vec3) {
		all = append(all, hypothesis{rule: ruleLidarPose, says: says, point: change})
	}
	point("if x and y of points change places", func(p mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{p[1], p[0], p[2]} })
	point("if x of points changes its sign", func(p mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{-p[0], p[1], p[2]} })
	point("if y of points changes its sign", func(p mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{p[0], -p[1], p[2]} })
	point("if z of points changes its sign", func(p mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{p[0], p[1], -p[2]} })
	return all
}

// explain looks for the mistake without which boxes hold their points, and adds it to the findings.
func (g *geometry) explain() bool {
	best, bestShare := truth, g.fit(truth)
	for _, h := range mistakes() {
		h = h.filled()
		if share := g.fit(h); share > bestShare+0.1 {
			best, bestShare = h, share
		}
	}
	hold := fmt.Sprintf("boxes hold %.0f %% of the points that belong to them", 100*g.share/float64(g.boxes))
	at := check.Place{File: g.table("sample_annotation")}
	switch {
	case best.rule == "" || bestShare < 0.6:
		if g.share < 0.5*float64(g.boxes) {
			g.found.Add(rulePointsInBox, at, "%s", hold)
		}
		return false
	case best.rule == ruleLidarPose:
		g.found.Add(best.rule, check.Place{File: g.table("calibrated_sensor")}, "%s, and %.0f %% %s", hold, 100*bestShare, best.says)
	default:
		g.found.Add(best.rule, at, "%s, and %.0f %% when they are %s", hold, 100*bestShare, best.says)
	}
	return true
}

// fit is which share of points are in their boxes by a hypothesis.
func (g *geometry) fit(h hypothesis) float64 {
	sum, boxes := 0.0, 0
	quiet := check.NewFindings(Format.Rules, nil)
	for _, m := range g.looked {
		var clouds []cloud
		for _, d := range m.keys {
			if d.channel().sensor.modality == "lidar" {
				clouds = append(clouds, g.readCloud(quiet, d))
			}
		}
		tallies := g.count(m, clouds, h)
		for i := range tallies {
			if g.instant || g.stays(tallies[i].box) {
				if part, whole := tallies[i].share(); whole >= fewest {
					sum += float64(part) / float64(whole)
					boxes++
				}
			}
		}
	}
	return sum / float64(max(boxes, 1))
}
