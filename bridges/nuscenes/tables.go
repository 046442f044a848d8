package nuscenes

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/dataset"
)

// tableNames are nuScenes's 13 tables, the labels of points, and the one of objects in pictures, which the devkit's export of 2-D boxes
// has, too.
var tableNames = []string{
	"attribute", "calibrated_sensor", "category", "ego_pose", "image_annotations", "instance", "lidarseg", "log", "map", "sample",
	"sample_annotation", "sample_data", "scene", "sensor", "visibility",
}

// Tables writes the tables and the masks.
func (format) Tables(set *dataset.Set, journal *dataset.Journal, all any) error {
	t := &tables{set: set, journal: journal, options: all.(*options), open: map[string]*table{}, sensors: map[string]*sensorOut{}, splits: map[string][]string{}}
	if err := t.with(tableNames, t.fill); err != nil {
		return err
	}
	if len(t.splits) == 0 {
		return nil
	}
	return set.Replace(t.options.Version+"/splits.json", func(w io.Writer) error {
		text, err := json.MarshalIndent(t.splits, "", "  ")
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	})
}

// table is a list of rows that is written.
type table struct {
	w    *bufio.Writer
	rows int
}

func (t *table) add(row any) error {
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	lead := ",\n"
	if t.rows == 0 {
		lead = "[\n"
	}
	t.rows++
	_, err = t.w.WriteString(lead + string(text))
	return err
}

func (t *table) end() error {
	text := "\n]\n"
	if t.rows == 0 {
		text = "[]\n"
	}
	if _, err := t.w.WriteString(text); err != nil {
		return err
	}
	return t.w.Flush()
}

// tables makes all tables in one pass over the journal, a scene at a time.
type tables struct {
	set     *dataset.Set
	journal *dataset.Journal
	options *options
	open    map[string]*table
	sensors map[string]*sensorOut // by channel
	order   []string              // their channels, as they come
	scenes  int
	splits  map[string][]string
	err     error
}

// with opens tables and calls fill.
func (t *tables) with(names []string, fill func() error) error {
	if len(names) == 0 {
		return fill()
	}
	return t.set.Replace(t.options.Version+"/"+names[0]+".json", func(w io.Writer) error {
		now := &table{w: bufio.NewWriterSize(w, 64<<10)}
		t.open[names[0]] = now
		if err := t.with(names[1:], fill); err != nil {
			return err
		}
		return now.end()
	})
}

// add adds a row; its error is kept.
func (t *tables) add(name string, row any) {
	if t.err == nil {
		t.err = t.open[name].add(row)
	}
}

// Rows of the tables.
type (
	named struct {
		Token       string `json:"token"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Index       *int   `json:"index,omitempty"`
	}
	level struct {
		Token       string `json:"token"`
		Level       string `json:"level"`
		Description string `json:"description"`
	}
	sensorOut struct {
		Token    string           `json:"token"`
		Channel  string           `json:"channel"`
		Modality dataset.Modality `json:"modality"`
		Rolling  bool             `json:"rolling"`
	}
	calibratedOut struct {
		Token       string      `json:"token"`
		Sensor      string      `json:"sensor_token"`
		Translation mgl64.Vec3  `json:"translation"`
		Rotation    [4]float64  `json:"rotation"`
		Intrinsic   [][]float64 `json:"camera_intrinsic"`
	}
	egoOut struct {
		Token       string     `json:"token"`
		Timestamp   int64      `json:"timestamp"`
		Translation mgl64.Vec3 `json:"translation"`
		Rotation    [4]float64 `json:"rotation"`
	}
	logOut struct {
		Token    string `json:"token"`
		File     string `json:"logfile"`
		Vehicle  string `json:"vehicle"`
		Date     string `json:"date_captured"`
		Location string `json:"location"`
	}
	mapOut struct {
		Token    string   `json:"token"`
		Logs     []string `json:"log_tokens"`
		Category string   `json:"category"`
		File     string   `json:"filename"`
	}
	sceneOut struct {
		Token       string `json:"token"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Log         string `json:"log_token"`
		Samples     int    `json:"nbr_samples"`
		First       string `json:"first_sample_token"`
		Last        string `json:"last_sample_token"`
	}
	sampleOut struct {
		Token     string `json:"token"`
		Timestamp int64  `json:"timestamp"`
		Scene     string `json:"scene_token"`
		Prev      string `json:"prev"`
		Next      string `json:"next"`
	}
	dataOut struct {
		Token      string `json:"token"`
		Sample     string `json:"sample_token"`
		Ego        string `json:"ego_pose_token"`
		Calibrated string `json:"calibrated_sensor_token"`
		File       string `json:"filename"`
		Format     string `json:"fileformat"`
		Width      int    `json:"width"`
		Height     int    `json:"height"`
		Timestamp  int64  `json:"timestamp"`
		Key        bool   `json:"is_key_frame"`
		Prev       string `json:"prev"`
		Next       string `json:"next"`
	}
	instanceOut struct {
		Token    string `json:"token"`
		Category string `json:"category_token"`
		Count    int    `json:"nbr_annotations"`
		First    string `json:"first_annotation_token"`
		Last     string `json:"last_annotation_token"`
	}
	annotationOut struct {
		Token       string     `json:"token"`
		Sample      string     `json:"sample_token"`
		Instance    string     `json:"instance_token"`
		Attributes  []string   `json:"attribute_tokens"`
		Visibility  string     `json:"visibility_token"`
		Translation mgl64.Vec3 `json:"translation"`
		Size        mgl64.Vec3 `json:"size"`
		Rotation    [4]float64 `json:"rotation"`
		Lidar       int        `json:"num_lidar_pts"`
		Radar       int        `json:"num_radar_pts"`
		Visible     float64    `json:"visible"`
		Prev        string     `json:"prev"`
		Next        string     `json:"next"`
	}
	pictureOut struct {
		Token      string     `json:"token"`
		Annotation string     `json:"sample_annotation_token"`
		Data       string     `json:"sample_data_token"`
		Amodal     [4]float64 `json:"bbox_corners"`
		Tight      []float64  `json:"bbox_visible"`
		Pixels     int        `json:"pixels"`
		Occlusion  float64    `json:"occlusion"`
		Truncation float64    `json:"truncation"`
	}
	labelsOut struct {
		Token string `json:"token"`
		Data  string `json:"sample_data_token"`
		File  string `json:"filename"`
	}
)

// levels are those of visibility by their tokens, which trainers know.
var levels = []level{
	{"1", "v0-40", "visibility of whole object is between 0 and 40%"}, {"2", "v40-60", "visibility of whole object is between 40 and 60%"},
	{"3", "v60-80", "visibility of whole object is between 60 and 80%"}, {"4", "v80-100", "visibility of whole object is between 80 and 100%"},
}

// visibility returns the token of a share, "" where it isn't known.
func visibility(share float64) string {
	switch {
	case share < 0:
		return ""
	case share < 0.4:
		return "1"
	case share < 0.6:
		return "2"
	case share < 0.8:
		return "3"
	}
	return "4"
}

func categoryToken(name string) string  { return token("", "category", name) }
func attributeToken(name string) string { return token("", "attribute", name) }

func dataToken(run string, scene int, d *dataRow) string {
	return token(run, "sample_data", scene, d.Channel, int64(d.Stamp))
}

// recorded is a scene of the journal.
type recorded struct {
	run    string
	number int
	key    string // of its split
	sceneRow
	frames []frameRow
	sweeps [][]dataRow // by frame: those before it
	// offset is added to places.
	offset mgl64.Vec3
}

// fill writes the rows.
func (t *tables) fill() error {
	for i, name := range categoryNames {
		t.add("category", named{Token: categoryToken(name), Name: name, Index: &i})
	}
	for _, name := range attributeNames {
		t.add("attribute", named{Token: attributeToken(name), Name: name})
	}
	for _, l := range levels {
		t.add("visibility", l)
	}
	var now *recorded
	for row, err := range t.journal.Rows() {
		if err != nil {
			return err
		}
		if row.Scene != nil {
			if err := t.scene(now); err != nil {
				return err
			}
			now = &recorded{run: row.Scene.Run, number: row.Scene.Number, key: t.journal.Head.SplitOf(row.Scene)}
			if err := json.Unmarshal(row.Scene.Data, &now.sceneRow); err != nil {
				return fmt.Errorf("%w: a scene's row: %w", dataset.ErrNoSet, err)
			}
			continue
		}
		if now == nil {
			return fmt.Errorf("%w: a key frame's row is in no scene", dataset.ErrNoSet)
		}
		if err := now.add(row.Frame); err != nil {
			return fmt.Errorf("%w: a key frame's row: %w", dataset.ErrNoSet, err)
		}
	}
	if err := t.scene(now); err != nil {
		return err
	}
	for _, channel := range t.order {
		t.add("sensor", t.sensors[channel])
	}
	return t.err
}

// add adds a key frame.
func (s *recorded) add(row *dataset.FrameRow) error {
	var frame frameRow
	if err := json.Unmarshal(row.Data, &frame); err != nil {
		return err
	}
	between := make([]dataRow, len(row.Sweeps))
	for i, data := range row.Sweeps {
		if err := json.Unmarshal(data, &between[i]); err != nil {
			return err
		}
	}
	s.frames, s.sweeps = append(s.frames, frame), append(s.sweeps, between)
	return placed(&frame, between)
}

// farthest is how far from the map frame's origin things of a scene may be, metres: the journal may come from elsewhere.
const farthest = 1e8

// placed returns an error for places that no run has.
func placed(frame *frameRow, sweeps []dataRow) error {
	far := func(p pose) bool { return max(math.Abs(p.At[0]), math.Abs(p.At[1])) > farthest }
	for _, d := range slices.Concat(frame.Data, sweeps) {
		if far(d.Ego) {
			return fmt.Errorf("%s is at %v", d.File, d.Ego.At)
		}
	}
	for _, o := range frame.Objects {
		if far(o.Pose) {
			return fmt.Errorf("object %d is at %v", o.ID, o.Pose.At)
		}
	}
	for _, r := range frame.Ground {
		if most := int(farthest / cell); r[1] > r[2] || min(r[0], r[1]) < -most || max(r[0], r[2]) > most {
			return fmt.Errorf("ground at %v", r)
		}
	}
	return nil
}

// scene writes the rows of a scene. One without key frames has none.
func (t *tables) scene(s *recorded) error {
	if s == nil || len(s.frames) == 0 {
		return t.err
	}
	ground := s.place()
	own, log := s.token("scene"), s.token("log")
	name := t.nameOf(t.scenes)
	t.scenes++
	if s.key != "" {
		t.splits[s.key] = append(t.splits[s.key], name)
	}
	first, last := s.sample(0), s.sample(len(s.frames)-1)
	t.add("log", logOut{
		log, logName(s.run, s.number), cmp.Or(s.Vehicle, "raybridge"),
		time.UnixMicro(micros(s.frames[0].Stamp, s.Epoch)).UTC().Format(time.DateOnly), cmp.Or(s.Location, "raybridge"),
	})
	t.add("scene", sceneOut{
		own, name, s.description(),
		log, len(s.frames), first, last,
	})
	file := "maps/" + s.token("map") + ".png"
	t.add("map", mapOut{s.token("map"), []string{log}, "semantic_prior", file})
	for i := range s.frames {
		t.add("sample", sampleOut{s.sample(i), micros(s.frames[i].Stamp, s.Epoch), own, s.sample(i - 1), s.sample(i + 1)})
	}
	t.calibration(s)
	t.data(s)
	t.annotations(s)
	if t.err != nil {
		return t.err
	}
	return t.set.Replace(file, ground.png)
}

// token is that of a row that the scene has one of, or of several that a key tells apart.
func (s *recorded) token(table string, key ...any) string {
	return token(s.run, table, append([]any{s.number}, key...)...)
}

// sample is the token of a key frame, "" beyond the scene's.
func (s *recorded) sample(i int) string {
	if i < 0 || i >= len(s.frames) {
		return ""
	}
	return s.token("sample", int64(s.frames[i].Stamp))
}

// Places are moved by a multiple of a step, so that all lies at least a margin from the map's edges.
const (
	step   = 100
	margin = 10
)

// place works the offset out and returns the ground.
func (s *recorded) place() *mask {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	see := func(x, y float64) {
		low, high = [2]float64{min(low[0], x), min(low[1], y)}, [2]float64{max(high[0], x), max(high[1], y)}
	}
	for i := range s.frames {
		for _, d := range slices.Concat(s.frames[i].Data, s.sweeps[i]) {
			see(d.Ego.At[0], d.Ego.At[1])
		}
		for _, o := range s.frames[i].Objects {
			see(o.Pose.At[0], o.Pose.At[1])
		}
		for _, row := range s.frames[i].Ground {
			see(float64(row[1])*cell, float64(row[0])*cell)
			see(float64(row[2]+1)*cell, float64(row[0]+1)*cell)
		}
	}
	m := &mask{}
	for axis, v := range low {
		s.offset[axis] = 0 - math.Floor((v-margin)/step)*step
	}
	column, row := int(s.offset[0]/cell), int(s.offset[1]/cell)
	for i := range s.frames {
		for _, r := range s.frames[i].Ground {
			m.add(r[0]+row, r[1]+column, r[2]+column)
		}
	}
	m.width = max(m.width, int((high[0]+s.offset[0]+margin)/cell))
	m.height = max(m.height, int((high[1]+s.offset[1]+margin)/cell))
	m.cut()
	return m
}

// description is what a scene says of itself. Weathers have their word there, as nuScenes's "rain" is: one that wasn't has none.
func (s *recorded) description() string {
	text := fmt.Sprintf("run %s, scene %d; the run's map frame is moved by x %+g m, y %+g m", s.run, s.number, s.offset[0], s.offset[1])
	if s.Weather != "" {
		text += "; configured weather: " + s.Weather
	}
	return text
}

// nameOf is the name of the set's scene of a number.
func (t *tables) nameOf(n int) string {
	if official := officialScenes(t.options.Version); t.options.Scenes == "official" && n < len(official) {
		return fmt.Sprintf("scene-%04d", official[n])
	}
	if t.options.Scenes == "official" {
		n += 2000 // behind all of nuScenes's
	}
	return fmt.Sprintf("scene-%04d", n+1)
}

func (t *tables) calibration(s *recorded) {
	intrinsic := map[string][][]float64{}
	for _, d := range s.frames[0].Data {
		if k := d.Intrinsic; len(k) == 9 {
			intrinsic[d.Channel] = [][]float64{k[:3], k[3:6], k[6:]}
		}
	}
	for _, n := range s.Sensors {
		sensor := t.sensors[n.Channel]
		if sensor == nil {
			sensor = &sensorOut{Token: token("", "sensor", n.Channel), Channel: n.Channel, Modality: n.Modality}
			t.sensors[n.Channel], t.order = sensor, append(t.order, n.Channel)
		}
		sensor.Rolling = sensor.Rolling || n.Rolling
		k := intrinsic[n.Channel]
		if k == nil {
			k = [][]float64{}
		}
		t.add("calibrated_sensor", calibratedOut{s.token("calibrated_sensor", n.Channel), sensor.Token, n.Pose.At, n.Pose.Turn, k})
	}
}

// data writes the files of all channels, by time.
func (t *tables) data(s *recorded) {
	type placed struct {
		*dataRow
		sample string
		key    bool
	}
	channels := map[string][]placed{}
	for i := range s.frames {
		for k := range s.sweeps[i] {
			d := &s.sweeps[i][k]
			channels[d.Channel] = append(channels[d.Channel], placed{d, s.sample(i), false})
		}
		for k := range s.frames[i].Data {
			d := &s.frames[i].Data[k]
			channels[d.Channel] = append(channels[d.Channel], placed{d, s.sample(i), true})
		}
	}
	for _, n := range s.Sensors {
		list := channels[n.Channel]
		slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.Stamp, b.Stamp) })
		at := func(i int) string {
			if i < 0 || i >= len(list) {
				return ""
			}
			return dataToken(s.run, s.number, list[i].dataRow)
		}
		format := map[dataset.Modality]string{dataset.Camera: "jpg", dataset.Lidar: "pcd", dataset.Radar: "pcd"}[n.Modality]
		for i, d := range list {
			stamp := micros(d.Stamp, s.Epoch)
			t.add("sample_data", dataOut{
				at(i), d.sample, at(i), s.token("calibrated_sensor", n.Channel), d.File, format, d.Width, d.Height, stamp, d.key, at(i - 1), at(i + 1),
			})
			t.add("ego_pose", egoOut{at(i), stamp, d.Ego.At.Add(s.offset), d.Ego.Turn})
			if d.Labels != "" {
				t.add("lidarseg", labelsOut{at(i), at(i), d.Labels})
			}
		}
	}
}

// annotations writes the objects, and how they stand in the pictures.
func (t *tables) annotations(s *recorded) {
	seen := map[uint32][]int{} // key frames by object
	for i := range s.frames {
		for _, o := range s.frames[i].Objects {
			seen[o.ID] = append(seen[o.ID], i)
		}
	}
	at := func(id uint32, n int) string {
		if n < 0 || n >= len(seen[id]) {
			return ""
		}
		return s.token("sample_annotation", id, int64(s.frames[seen[id][n]].Stamp))
	}
	done := map[uint32]int{}
	for i := range s.frames {
		pictures := map[string]string{}
		for k := range s.frames[i].Data {
			pictures[s.frames[i].Data[k].Channel] = dataToken(s.run, s.number, &s.frames[i].Data[k])
		}
		for _, o := range s.frames[i].Objects {
			n := done[o.ID]
			done[o.ID]++
			if n == 0 {
				t.add("instance", instanceOut{s.token("instance", o.ID), categoryToken(o.Category), len(seen[o.ID]), at(o.ID, 0), at(o.ID, len(seen[o.ID])-1)})
			}
			row := annotationOut{
				Token: at(o.ID, n), Sample: s.sample(i), Instance: s.token("instance", o.ID), Attributes: []string{}, Visibility: visibility(o.Visible),
				Translation: o.Pose.At.Add(s.offset), Size: o.Size, Rotation: o.Pose.Turn, Lidar: o.Lidar, Radar: o.Radar, Visible: o.Visible,
				Prev: at(o.ID, n-1), Next: at(o.ID, n+1),
			}
			if o.Attribute != "" {
				row.Attributes = append(row.Attributes, attributeToken(o.Attribute))
			}
			t.add("sample_annotation", row)
			for _, v := range o.Views {
				tight := v.Tight
				if tight == nil {
					tight = []float64{}
				}
				t.add("image_annotations", pictureOut{token(row.Token, "image_annotations", v.Channel), row.Token, pictures[v.Channel], v.Amodal, tight, v.Pixels, v.Occlusion, v.Truncation})
			}
		}
	}
}
