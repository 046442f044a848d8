package nuscenes

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	_ "image/png" // maps
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// released are the names of lidarseg's categories, by index. They are those of the released tables and of the devkit's colours. The
// instructions beside the devkit number some of them otherwise.
var released = []string{
	"noise", "animal", "human.pedestrian.adult", "human.pedestrian.child", "human.pedestrian.construction_worker",
	"human.pedestrian.personal_mobility", "human.pedestrian.police_officer", "human.pedestrian.stroller", "human.pedestrian.wheelchair",
	"movable_object.barrier", "movable_object.debris", "movable_object.pushable_pullable", "movable_object.trafficcone",
	"static_object.bicycle_rack", "vehicle.bicycle", "vehicle.bus.bendy", "vehicle.bus.rigid", "vehicle.car", "vehicle.construction",
	"vehicle.emergency.ambulance", "vehicle.emergency.police", "vehicle.motorcycle", "vehicle.trailer", "vehicle.truck",
	"flat.driveable_surface", "flat.other", "flat.sidewalk", "flat.terrain", "static.manmade", "static.other", "static.vegetation", "vehicle.ego",
}

// firstStuff is the first index of what has no boxes.
const firstStuff = 24

// checkNames checks categories and attributes by what readers know by heart.
func (s *set) checkNames(f *check.Findings) {
	labelled := len(s.lidarseg)+len(s.panoptic) > 0
	for _, c := range s.categoryList {
		at := check.Place{File: s.table("category"), Row: c.token}
		switch i := slices.Index(released, c.name); {
		case !labelled && c.index < 0:
		case i < 0 && labelled:
			f.Add(ruleCategory, at, "%q isn't one of the 32 names that readers of labelled points know", c.name)
		case i != c.index && i >= 0:
			f.Add(ruleCategory, at, "the index of %s is %d: it is %d in the released tables", c.name, c.index, i)
		}
	}
	for _, a := range s.annotationList {
		if a.instance == nil || a.instance.category == nil || detectionName(a.instance.category.name) == "" {
			continue
		}
		for _, name := range a.attributes {
			if want := attributesOf(a.instance.category.name); name != "" && !slices.Contains(want, name) {
				f.Add(ruleAttribute, check.Place{File: s.table("sample_annotation"), Row: a.token}, "%s has the attribute %s: it may have %s", a.instance.category.name, name,
					strings.Join(want, ", "))
			}
		}
	}
}

// attributesOf are those that the boxes of a category of the detection task may have.
func attributesOf(category string) []string {
	switch {
	case category == "vehicle.bicycle" || category == "vehicle.motorcycle":
		return []string{"cycle.with_rider", "cycle.without_rider"}
	case strings.HasPrefix(category, "vehicle."):
		return []string{"vehicle.moving", "vehicle.stopped", "vehicle.parked"}
	case strings.HasPrefix(category, "human."):
		return []string{"pedestrian.moving", "pedestrian.standing", "pedestrian.sitting_lying_down"}
	default:
		return []string{"none"}
	}
}

// at is the place of a row's file.
func (d *data) at() check.Place { return check.Place{File: d.file, Row: d.token} }

// checkForms checks what rows say of their files.
func (s *set) checkForms(f *check.Findings) {
	for _, n := range s.sensorList {
		prefix := map[string]string{"CAM_": "camera", "LIDAR_": "lidar", "RADAR_": "radar"}
		for begin, modality := range prefix {
			if strings.HasPrefix(n.channel, begin) && n.modality != modality {
				f.Add(ruleModality, check.Place{File: s.table("sensor"), Row: n.token}, "%s is a %s: its channel says %s", n.channel, n.modality, modality)
			}
		}
	}
	files := map[string]*data{}
	for _, d := range s.dataList {
		at := check.Place{File: s.table("sample_data"), Row: d.token}
		if other := files[d.file]; other != nil {
			f.Add(ruleFile, at, "%s is the file of %s, too", d.file, other.token)
		}
		files[d.file] = d
		form, end, sized := "pcd", ".pcd", false
		switch n := d.channel().sensor; {
		case n == nil:
			continue
		case n.modality == "camera":
			form, end, sized = "jpg", ".jpg", true
		case n.modality == "lidar":
			end = ".bin"
		}
		if d.format != form || !strings.HasSuffix(d.file, end) {
			f.Add(ruleFileFormat, at, "the fileformat of %s is %q: %s's files have %q and end in %s", d.file, d.format, d.channel().name(), form, end)
		}
		if !sized && (d.width != 0 || d.height != 0) {
			f.Add(ruleFileFormat, at, "width and height are %d and %d: both are 0 except of pictures", d.width, d.height)
		}
	}
}

// readFile returns a file that a row names. Its absence is a finding.
func (s *set) readFile(f *check.Findings, at check.Place, name string) ([]byte, bool) {
	file, err := fs.ReadFile(s.root, name)
	if err != nil {
		f.Add(ruleFile, at, "%s can't be read: %v", name, err)
	}
	return file, err == nil
}

// checkSweeps checks the files between key frames.
func (s *set) checkSweeps(ctx context.Context, f *check.Findings) error {
	for _, d := range s.dataList {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := d.channel().sensor; n != nil && (!d.key || d.sample == nil) {
			switch n.modality {
			case "camera":
				s.checkPicture(f, d)
			case "lidar":
				s.lidarPoints(f, d)
			case "radar":
				s.radarReturns(f, d)
			}
		}
	}
	return nil
}

func (s *set) checkPicture(f *check.Findings, d *data) {
	file, ok := s.readFile(f, d.at(), d.file)
	if !ok {
		return
	}
	size, kind, err := image.DecodeConfig(bytes.NewReader(file))
	switch {
	case err != nil || kind != "jpeg":
		f.Add(rulePicture, d.at(), "the file isn't a JPEG: %v", err)
	case !bytes.HasSuffix(bytes.TrimRight(file, "\x00"), []byte{0xff, 0xd9}):
		f.Add(rulePicture, d.at(), "the picture is cut: it lacks the end mark")
	case int64(size.Width) != d.width || int64(size.Height) != d.height:
		f.Add(rulePicture, d.at(), "the picture is %d x %d: its row says %d x %d", size.Width, size.Height, d.width, d.height)
	case d.sensor.isCamera && (d.sensor.matrix[0][2] > float64(size.Width) || d.sensor.matrix[1][2] > float64(size.Height)):
		f.Add(ruleIntrinsic, check.Place{File: s.table("calibrated_sensor"), Row: d.sensor.token}, "the centre of projection lies outside of the picture of %d x %d", size.Width, size.Height)
	}
}

func (s *set) lidarPoints(f *check.Findings, d *data) []mgl64.Vec3 {
	file, ok := s.readFile(f, d.at(), d.file)
	if !ok {
		return nil
	}
	points, err := decodeLidar(file)
	if err != nil {
		f.Add(ruleLidar, d.at(), "%v", err)
	}
	return points
}

func (s *set) radarReturns(f *check.Findings, d *data) []radarReturn {
	file, ok := s.readFile(f, d.at(), d.file)
	if !ok {
		return nil
	}
	returns, err := decodeRadar(file)
	switch {
	case errors.Is(err, errEnd):
		f.Add(ruleRadarEnd, d.at(), "%v", err)
	case err != nil:
		f.Add(ruleRadar, d.at(), "%v", err)
		return nil
	}
	states := s.radarStates[d.channel().sensor]
	if states == nil {
		states = &radarStates{first: d}
		s.radarStates[d.channel().sensor] = states
	}
	for i := range returns {
		r := &returns[i]
		if r.none() {
			continue
		}
		states.all++
		if r.invalid == 0 && r.ambiguity == 3 && r.dynamic >= 0 && r.dynamic <= 6 {
			states.kept++
		}
		if r.invalid < 0 || r.invalid > 17 || r.ambiguity < 0 || r.ambiguity > 4 || r.dynamic < 0 || r.dynamic > 7 || r.pdh0 < 0 || r.pdh0 > 7 {
			f.Add(ruleRadarState, d.at(), "return %d has states that there are none of: dyn_prop %d, ambig_state %d, invalid_state %d, pdh0 %d", i, r.dynamic, r.ambiguity, r.invalid, r.pdh0)
			return returns
		}
	}
	return returns
}

// radarStates counts the returns of a radar that readers keep. Single files of a real one may have none.
type radarStates struct {
	first     *data
	kept, all int64
}

// checkRadarStates checks that readers keep any return of each radar, once all files were read.
func (s *set) checkRadarStates(f *check.Findings) {
	for _, n := range s.sensorList {
		states := s.radarStates[n]
		if states == nil {
			continue
		}
		f.Measure("radar returns that readers keep", states.kept, states.all)
		if states.kept == 0 && states.all > 0 {
			f.Add(ruleRadarState, states.first.at(), "readers keep none of the %d returns of %s: they want invalid_state 0, ambig_state 3 and dyn_prop 0 to 6", states.all, n.channel)
		}
	}
}

// cloud is a lidar's key frame.
type cloud struct {
	data   *data
	points []mgl64.Vec3 // in the sensor's frame
	// class is lidarseg's index of each point; nil where the set has none.
	class []uint8
}

// readCloud reads a lidar's key frame with its labels.
func (s *set) readCloud(f *check.Findings, d *data) cloud {
	c := cloud{data: d, points: s.lidarPoints(f, d)}
	if l := s.lidarseg[d]; l != nil && c.points != nil {
		c.class = s.classes(f, l, len(c.points))
	}
	if l := s.panoptic[d]; l != nil && c.points != nil {
		s.checkPanoptic(f, l, c)
	}
	return c
}

func (l *label) at() check.Place { return check.Place{File: l.file, Row: l.token} }

// classes reads lidarseg's file; nil if it isn't right.
func (s *set) classes(f *check.Findings, l *label, points int) []uint8 {
	file, ok := s.readFile(f, l.at(), l.file)
	if !ok {
		return nil
	}
	if len(file) != points {
		f.Add(ruleLidarseg, l.at(), "there are %d labels, the cloud has %d points", len(file), points)
		return nil
	}
	for i, class := range file {
		if !s.hasIndex(int(class)) {
			f.Add(ruleLidarseg, l.at(), "point %d has the label %d, which is the index of no category", i, class)
			return nil
		}
	}
	return file
}

// hasIndex reports whether an index is that of a category.
func (s *set) hasIndex(index int) bool {
	return index < len(s.indices) && s.indices[index]
}

func (s *set) checkPanoptic(f *check.Findings, l *label, c cloud) {
	file, ok := s.readFile(f, l.at(), l.file)
	if !ok {
		return
	}
	labels, err := decodePanoptic(file, len(c.points))
	if err != nil {
		f.Add(rulePanoptic, l.at(), "%v", err)
		return
	}
	for i, label := range labels {
		index, number := int(label/1000), label%1000
		switch {
		case !s.hasIndex(index):
			f.Add(rulePanoptic, l.at(), "point %d has the label %d: %d is the index of no category", i, label, index)
		case number != 0 && (index == 0 || index >= firstStuff):
			f.Add(rulePanoptic, l.at(), "point %d has the label %d: %s has no instances", i, label, released[min(index, len(released)-1)])
		// A thing without a box of its own is 0 here, so that only those with an instance must agree.
		case c.class != nil && number != 0 && int(c.class[i]) != index:
			f.Add(rulePanoptic, l.at(), "point %d is of category %d in panoptic, of %d in lidarseg", i, index, c.class[i])
		default:
			continue
		}
		return
	}
}

// checkLabelFolders compares the files of lidarseg and panoptic with the rows: the devkit asserts that there are as many.
func (s *set) checkLabelFolders(f *check.Findings) {
	for _, table := range []string{"lidarseg", "panoptic"} {
		folder := path.Join(table, s.version)
		entries, err := fs.ReadDir(s.root, folder)
		if err != nil && len(s.labels(table)) == 0 {
			continue
		}
		n := 0
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".bin") || strings.HasSuffix(e.Name(), ".npz") {
				n++
			}
		}
		if rows := len(s.labels(table)); n != rows {
			f.Add(ruleLabels, check.Place{File: folder}, "the folder has %d label files, the table %d rows: loaders refuse the set", n, rows)
		}
	}
}

// mapScale is how many pixels of a map's picture are a metre.
const mapScale = 10

// largestMap is up to which number of pixels a map is read.
const largestMap = 1 << 28

// checkMaps reads the maps' pictures, and returns them; those that are too large are nil.
func (s *set) checkMaps(f *check.Findings) map[*mapRow]*image.Gray {
	masks := map[*mapRow]*image.Gray{}
	for _, m := range s.maps {
		at := check.Place{File: m.file, Row: m.token}
		file, ok := s.readFile(f, at, m.file)
		if !ok {
			continue
		}
		size, kind, err := image.DecodeConfig(bytes.NewReader(file))
		if err != nil || kind != "png" || size.ColorModel != color.GrayModel {
			f.Add(ruleMapMask, at, "the file isn't a PNG of 8-bit grey: %v", err)
			continue
		}
		if size.Width*size.Height > largestMap {
			continue
		}
		picture, _, err := image.Decode(bytes.NewReader(file))
		mask, grey := picture.(*image.Gray)
		if err != nil || !grey {
			f.Add(ruleMapMask, at, "the picture can't be read: %v", err)
			continue
		}
		if i := slices.IndexFunc(mask.Pix, func(v uint8) bool { return v != 0 && v != 255 }); i >= 0 {
			f.Add(ruleMapMask, at, "a pixel is %d: 255 is drivable or sidewalk, and 0 the rest", mask.Pix[i])
		}
		masks[m] = mask
	}
	return masks
}
