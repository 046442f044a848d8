package nuscenes

import (
	"context"
	"errors"
	"io/fs"
	"regexp"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
	"github.com/raybridge/raybridge/spatial"
)

// Rows of the tables; tokens of other rows are resolved into pointers, which are nil for unknown ones.
type (
	category struct {
		token, name string
		index       int // -1 for none
	}
	sensor struct {
		token, channel, modality string
		// rolling is an extra key of raybridge's sets: whether a lidar's scan takes time. nil is unknown.
		rolling *bool
	}
	calibrated struct {
		token    string
		sensor   *sensor
		pose     spatial.Pose // sensor to ego
		matrix   [3][3]float64
		isCamera bool
	}
	egoPose struct {
		token string
		stamp int64
		pose  spatial.Pose // ego to global
	}
	logRow struct{ token string }
	mapRow struct {
		token, file string
		logs        []string
	}
	scene struct {
		token, name, first, last string
		log                      *logRow
		count                    int64
		samples                  []*sample // in the table's order
	}
	sample struct {
		token, prev, next string
		stamp             int64
		scene             *scene
		keys              []*data // the key frame's files
		boxes             []*annotation
	}
	data struct {
		token, prev, next, file, format string
		stamp                           int64
		width, height                   int64
		key                             bool
		sample                          *sample
		ego                             *egoPose
		sensor                          *calibrated
	}
	instance struct {
		token, first, last string
		category           *category
		count              int64
		boxes              []*annotation // in the table's order
	}
	annotation struct {
		token, prev, next, visibility string
		sample                        *sample
		instance                      *instance
		attributes                    []string // names
		pose                          spatial.Pose
		size                          mgl64.Vec3 // length, width, height
		lidar, radar                  int64
	}
	// label is a row of lidarseg or panoptic.
	label struct {
		token, file string
		data        *data
	}
	// picture is an object in a picture, of image_annotations.
	picture struct {
		token  string
		box    *annotation
		data   *data
		amodal [4]float64 // left, top, right, bottom in pixels, within the picture
		// visible are the bounds of the pixels that show it; ok is false where none does, or the set doesn't say.
		visible   [4]float64
		isVisible bool
	}
)

// set is an open version of a data set.
type set struct {
	root    fs.FS
	version string

	categories  map[string]*category
	attributes  map[string]string // names
	levels      map[string]string // of visibility
	sensors     map[string]*sensor
	calibrated  map[string]*calibrated
	egoPoses    map[string]*egoPose
	logs        map[string]*logRow
	maps        []*mapRow
	scenes      map[string]*scene
	samples     map[string]*sample
	datas       map[string]*data
	instances   map[string]*instance
	annotations map[string]*annotation
	lidarseg    map[*data]*label
	panoptic    map[*data]*label
	pictures    map[*data][]*picture

	// In the order of the tables.
	sensorList     []*sensor
	sceneList      []*scene
	sampleList     []*sample
	dataList       []*data
	instanceList   []*instance
	annotationList []*annotation
	egoPoseList    []*egoPose
	calibratedList []*calibrated
	categoryList   []*category

	indices     [256]bool // those of categories
	radarStates map[*sensor]*radarStates
}

// resolve returns the row of a token, and adds a finding where there is none.
func resolve[T any](r *reader, rows map[string]*T, name, table string) *T {
	token := r.text(name)
	row := rows[token]
	if row == nil && r.fields[name] != nil {
		r.found.Add(ruleKey, r.place(), "%s %q isn't a row of %s", name, token, table)
	}
	return row
}

// add puts a row into its table, unless another one has its token.
func add[T any](r *reader, rows map[string]*T, row *T) bool {
	if r.token == "" {
		return false
	}
	if rows[r.token] != nil {
		r.found.Add(ruleToken, r.place(), "another row has the same token")
		return false
	}
	rows[r.token] = row
	return true
}

func open(ctx context.Context, root fs.FS, version string, f *check.Findings) (check.Set, error) {
	s := &set{root: root, version: version, radarStates: map[*sensor]*radarStates{}}
	missing := false
	for _, table := range tables {
		if file := version + "/" + table + ".json"; !exists(root, file) {
			f.Add(ruleTable, check.Place{File: file}, "the table is missing: loaders refuse the set")
			missing = true
		}
	}
	if missing {
		return nil, nil
	}
	for _, read := range []func(*check.Findings) error{
		s.readCategories, s.readAttributes, s.readVisibility, s.readSensors, s.readCalibrated, s.readEgoPoses, s.readLogs, s.readMaps, s.readScenes,
		s.readSamples, s.readData, s.readInstances, s.readAnnotations, s.readLabels, s.readPictures,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch err := read(f); {
		case errors.Is(err, errTable):
			return nil, nil // there is nothing that could be said of the others
		case err != nil:
			return nil, err
		}
	}
	return s, nil
}

func exists(root fs.FS, file string) bool {
	_, err := fs.Stat(root, file)
	return err == nil
}

func (s *set) table(name string) string { return s.version + "/" + name + ".json" }

func (s *set) read(table string, f *check.Findings, row func(*reader)) error {
	return readTable(s.root, s.table(table), f, row)
}

func (s *set) readCategories(f *check.Findings) error {
	s.categories = map[string]*category{}
	return s.read("category", f, func(r *reader) {
		c := &category{r.token, r.text("name"), -1}
		r.text("description")
		if r.fields["index"] != nil {
			c.index = int(r.whole("index"))
		}
		if add(r, s.categories, c) {
			s.categoryList = append(s.categoryList, c)
			if c.index >= 0 && c.index < len(s.indices) {
				s.indices[c.index] = true
			}
		}
	})
}

func (s *set) readAttributes(f *check.Findings) error {
	s.attributes = map[string]string{}
	return s.read("attribute", f, func(r *reader) {
		if _, ok := s.attributes[r.token]; ok {
			f.Add(ruleToken, r.place(), "another row has the same token")
		}
		s.attributes[r.token] = r.text("name")
		r.text("description")
	})
}

// visibilityLevels are the tokens and levels that readers know by heart.
var visibilityLevels = map[string]string{"1": "v0-40", "2": "v40-60", "3": "v60-80", "4": "v80-100"}

func (s *set) readVisibility(f *check.Findings) error {
	s.levels = map[string]string{}
	return s.read("visibility", f, func(r *reader) {
		level := r.text("level")
		r.text("description")
		if _, ok := s.levels[r.token]; ok {
			f.Add(ruleToken, r.place(), "another row has the same token")
		}
		s.levels[r.token] = level
		if visibilityLevels[r.token] != level || level == "" {
			f.Add(ruleVisibility, r.place(), "the token of level %q is %q: trainers filter by the tokens 1 for v0-40, 2 for v40-60, 3 for v60-80 and 4 for v80-100", level, r.token)
		}
	})
}

func (s *set) readSensors(f *check.Findings) error {
	s.sensors = map[string]*sensor{}
	return s.read("sensor", f, func(r *reader) {
		n := &sensor{token: r.token, channel: r.text("channel"), modality: r.text("modality")}
		if r.fields["rolling"] != nil {
			rolling := r.flag("rolling")
			n.rolling = &rolling
		}
		if n.modality != "camera" && n.modality != "lidar" && n.modality != "radar" {
			f.Add(ruleModality, r.place(), "modality %q isn't one of camera, lidar and radar", n.modality)
		}
		if add(r, s.sensors, n) {
			s.sensorList = append(s.sensorList, n)
		}
	})
}

func (s *set) readCalibrated(f *check.Findings) error {
	s.calibrated = map[string]*calibrated{}
	return s.read("calibrated_sensor", f, func(r *reader) {
		c := &calibrated{token: r.token, sensor: resolve(r, s.sensors, "sensor_token", "sensor"), pose: r.pose()}
		c.matrix, c.isCamera = r.intrinsic()
		if c.sensor != nil {
			s.judgeIntrinsic(r, c)
		}
		if add(r, s.calibrated, c) {
			s.calibratedList = append(s.calibratedList, c)
		}
	})
}

func (s *set) judgeIntrinsic(r *reader, c *calibrated) {
	k := c.matrix
	switch camera := c.sensor.modality == "camera"; {
	case camera && !c.isCamera:
		r.found.Add(ruleIntrinsic, r.place(), "the camera %s has no camera_intrinsic", c.sensor.channel)
	case !camera && c.isCamera:
		r.found.Add(ruleIntrinsic, r.place(), "%s isn't a camera and has a camera_intrinsic: it must be an empty list", c.sensor.channel)
	case camera && (k[0][0] <= 0 || k[1][1] <= 0 || k[0][2] <= 0 || k[1][2] <= 0 || k[1][0] != 0 || k[2] != [3]float64{0, 0, 1}):
		r.found.Add(ruleIntrinsic, r.place(), "camera_intrinsic is %v: it must be fx 0 cx, 0 fy cy, 0 0 1, in pixels", k)
	}
}

func (s *set) readEgoPoses(f *check.Findings) error {
	s.egoPoses = map[string]*egoPose{}
	return s.read("ego_pose", f, func(r *reader) {
		p := &egoPose{r.token, r.stamp("timestamp"), r.pose()}
		if add(r, s.egoPoses, p) {
			s.egoPoseList = append(s.egoPoseList, p)
		}
	})
}

var dateForm = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$`)

func (s *set) readLogs(f *check.Findings) error {
	s.logs = map[string]*logRow{}
	return s.read("log", f, func(r *reader) {
		r.text("logfile")
		r.text("vehicle")
		r.text("location")
		if date := r.text("date_captured"); r.fields["date_captured"] != nil && !dateForm.MatchString(date) {
			f.Add(ruleDate, r.place(), "date_captured is %q: it must be YYYY-MM-DD", date)
		}
		add(r, s.logs, &logRow{r.token})
	})
}

func (s *set) readMaps(f *check.Findings) error {
	byToken := map[string]*mapRow{}
	listed := map[string]bool{}
	err := s.read("map", f, func(r *reader) {
		m := &mapRow{r.token, r.text("filename"), r.texts("log_tokens")}
		r.text("category")
		for _, token := range m.logs {
			if s.logs[token] == nil {
				f.Add(ruleKey, r.place(), "log_tokens has %q, which isn't a row of log", token)
			}
			listed[token] = true
		}
		if add(r, byToken, m) {
			s.maps = append(s.maps, m)
		}
	})
	for token := range s.logs {
		if !listed[token] {
			f.Add(ruleMap, check.Place{File: s.table("log"), Row: token}, "no row of map lists the log: loaders fail with a KeyError")
		}
	}
	return err
}

func (s *set) readScenes(f *check.Findings) error {
	s.scenes = map[string]*scene{}
	return s.read("scene", f, func(r *reader) {
		c := &scene{token: r.token, name: r.text("name"), first: r.text("first_sample_token"), last: r.text("last_sample_token"),
			log: resolve(r, s.logs, "log_token", "log"), count: r.whole("nbr_samples")}
		r.text("description")
		if add(r, s.scenes, c) {
			s.sceneList = append(s.sceneList, c)
		}
	})
}

func (s *set) readSamples(f *check.Findings) error {
	s.samples = map[string]*sample{}
	return s.read("sample", f, func(r *reader) {
		m := &sample{token: r.token, prev: r.text("prev"), next: r.text("next"), stamp: r.stamp("timestamp"),
			scene: resolve(r, s.scenes, "scene_token", "scene")}
		if add(r, s.samples, m) {
			s.sampleList = append(s.sampleList, m)
			if m.scene != nil {
				m.scene.samples = append(m.scene.samples, m)
			}
		}
	})
}

func (s *set) readData(f *check.Findings) error {
	s.datas = map[string]*data{}
	return s.read("sample_data", f, func(r *reader) {
		d := &data{token: r.token, prev: r.text("prev"), next: r.text("next"), file: r.text("filename"), format: r.text("fileformat"),
			stamp: r.stamp("timestamp"), width: r.whole("width"), height: r.whole("height"), key: r.flag("is_key_frame"),
			sample: resolve(r, s.samples, "sample_token", "sample"), ego: resolve(r, s.egoPoses, "ego_pose_token", "ego_pose"),
			sensor: resolve(r, s.calibrated, "calibrated_sensor_token", "calibrated_sensor")}
		if add(r, s.datas, d) {
			s.dataList = append(s.dataList, d)
			if d.key && d.sample != nil && d.sensor != nil && d.sensor.sensor != nil {
				d.sample.keys = append(d.sample.keys, d)
			}
		}
	})
}

func (s *set) readInstances(f *check.Findings) error {
	s.instances = map[string]*instance{}
	return s.read("instance", f, func(r *reader) {
		i := &instance{token: r.token, first: r.text("first_annotation_token"), last: r.text("last_annotation_token"),
			category: resolve(r, s.categories, "category_token", "category"), count: r.whole("nbr_annotations")}
		if add(r, s.instances, i) {
			s.instanceList = append(s.instanceList, i)
		}
	})
}

func (s *set) readAnnotations(f *check.Findings) error {
	s.annotations = map[string]*annotation{}
	return s.read("sample_annotation", f, func(r *reader) {
		a := &annotation{token: r.token, prev: r.text("prev"), next: r.text("next"), visibility: r.text("visibility_token"),
			sample: resolve(r, s.samples, "sample_token", "sample"), instance: resolve(r, s.instances, "instance_token", "instance"),
			pose: r.pose(), lidar: r.whole("num_lidar_pts"), radar: r.whole("num_radar_pts")}
		size, ok := r.vec3("size") // width, length, height
		a.size = mgl64.Vec3{size[1], size[0], size[2]}
		if ok && min(size[0], size[1], size[2]) <= 0 {
			f.Add(ruleSize, r.place(), "size is %v: width, length and height must be positive", size)
		}
		if _, known := s.levels[a.visibility]; !known && a.visibility != "" {
			f.Add(ruleKey, r.place(), "visibility_token %q isn't a row of visibility", a.visibility)
		}
		for _, token := range r.texts("attribute_tokens") {
			name, ok := s.attributes[token]
			if !ok {
				f.Add(ruleKey, r.place(), "attribute_tokens has %q, which isn't a row of attribute", token)
			}
			a.attributes = append(a.attributes, name)
		}
		if len(a.attributes) > 1 {
			f.Add(ruleAttribute, r.place(), "the box has %d attributes: evaluations take one at most", len(a.attributes))
		}
		if !add(r, s.annotations, a) {
			return
		}
		s.annotationList = append(s.annotationList, a)
		if a.instance != nil {
			a.instance.boxes = append(a.instance.boxes, a)
		}
		if a.sample != nil && a.instance != nil && a.instance.category != nil {
			a.sample.boxes = append(a.sample.boxes, a)
		}
	})
}

// readLabels reads the tables lidarseg and panoptic, which a set may have.
func (s *set) readLabels(f *check.Findings) error {
	s.lidarseg, s.panoptic = map[*data]*label{}, map[*data]*label{}
	for _, table := range []string{"lidarseg", "panoptic"} {
		labels := s.labels(table)
		if !exists(s.root, s.table(table)) {
			continue
		}
		rows := map[string]*label{}
		if err := s.read(table, f, func(r *reader) {
			l := &label{r.token, r.text("filename"), resolve(r, s.datas, "sample_data_token", "sample_data")}
			switch {
			case l.data != nil && r.token != l.data.token:
				f.Add(ruleLabelToken, r.place(), "the token is not that of its sample_data, %s: readers look it up by it", l.data.token)
			case l.data != nil && (!l.data.key || l.data.sensor == nil || l.data.sensor.sensor == nil || l.data.sensor.sensor.modality != "lidar"):
				f.Add(ruleLabelToken, r.place(), "the labels are of %s, which isn't a key frame of a lidar", l.data.file)
			}
			if add(r, rows, l) && l.data != nil {
				labels[l.data] = l
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// labels are the rows of lidarseg or panoptic.
func (s *set) labels(table string) map[*data]*label {
	if table == "lidarseg" {
		return s.lidarseg
	}
	return s.panoptic
}

// readPictures reads image_annotations, which the devkit's export of 2-D boxes writes: a set may have it.
func (s *set) readPictures(f *check.Findings) error {
	s.pictures = map[*data][]*picture{}
	if !exists(s.root, s.table("image_annotations")) {
		return nil
	}
	rows := map[string]*picture{}
	return s.read("image_annotations", f, func(r *reader) {
		p := &picture{token: r.token, box: resolve(r, s.annotations, "sample_annotation_token", "sample_annotation"), data: resolve(r, s.datas, "sample_data_token", "sample_data")}
		amodal, _ := r.numbers("bbox_corners", 4)
		p.amodal = [4]float64(amodal)
		if raw := string(r.fields["bbox_visible"]); raw != "" && raw != "[]" {
			var visible []float64
			visible, p.isVisible = r.numbers("bbox_visible", 4)
			p.visible = [4]float64(visible)
		}
		if add(r, rows, p) && p.data != nil && p.box != nil {
			s.pictures[p.data] = append(s.pictures[p.data], p)
		}
	})
}
