package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// NewFactory makes the bridge of a format.
func NewFactory(format Format) bridges.Factory { return factory{format} }

// Sensors that formats want beside each colour camera, for Format.Info.
var (
	// Boxes are Picture.Boxes.
	Boxes = bridges.Want{Sensor: typeBoxes, Name: "boxes", Beside: typeCamera, Attributes: map[string]any{"detection_range": 1000}}
	// Instances are Picture.Instances. A run may have more actors than 16 bits can count.
	Instances = bridges.Want{
		Sensor: typeInstances, Name: "instances", Beside: typeCamera, Attributes: map[string]any{"output": "id", "encoding": sample.Encoding32SC1},
	}
	// Semantics are Picture.Semantics.
	Semantics = bridges.Want{Sensor: typeSemantics, Name: "tags", Beside: typeCamera, Attributes: map[string]any{"output": "tag"}}
)

// Types of the sensors that a set is made of.
const (
	typeCamera    = "sensor.camera.rgb"
	typeInstances = "sensor.camera.instance_segmentation"
	typeSemantics = "sensor.camera.semantic_segmentation"
	typeBoxes     = "sensor.ground_truth.boxes_2d"
	typeRadar     = "sensor.other.radar"
	typesLidar    = "sensor.lidar."
	typeSnapshot  = "sensor.other.snapshot"
)

type factory struct{ format Format }

// Info describes the bridge.
func (f factory) Info() bridges.Info {
	info := f.format.Info()
	all, _ := f.format.Options()
	info.Type, info.Kind, info.Connection, info.Options = info.Name, bridges.KindFile, "FOLDER", bridges.OptionsOf(all)
	info.Wants = append(slices.Clone(info.Wants), bridges.Snapshot)
	info.OtherGap = "a data set has pictures, clouds, radar sweeps and labels alone"
	info.Gaps = append(info.Gaps, bridges.Lacks[*sample.CompressedImage]("the set compresses the plain picture itself"))
	return info
}

// Register declares what key frames are made of.
func (f factory) Register(p *bridges.Plugin) error {
	name := f.format.Info().Name
	return errors.Join(
		register[*sample.Image](p, name+".Picture"), register[*sample.CameraInfo](p, name+".Calibration"),
		register[*sample.PointCloud](p, name+".Cloud"), register[*sample.Radar](p, name+".Radar"),
		register[*sample.Detections2D](p, name+".Boxes"), register[*sample.Snapshot](p, name+".Actors"),
	)
}

func register[M message](p *bridges.Plugin, wire string) error {
	return bridges.RegPublisher(p, wire, func(i *instance, topic *bridges.PublishedTopic) (bridges.Publisher[M], error) {
		in := newInput(topic)
		if err := i.add(in); err != nil {
			return nil, err
		}
		return func(ctx context.Context, m M) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return i.take(in, m)
		}, nil
	})
}

// NewInstance returns one that isn't connected.
func (f factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := &instance{format: f.format}
	i.Env, i.Read = env, i.read
	i.Env.Log = cmp.Or(i.Env.Log, slog.New(slog.DiscardHandler))
	return i, nil
}

// instance is a bridge of a run. Its methods may be called from any goroutine.
type instance struct {
	bridges.Recorder[*recording]
	format Format
	inputs []*input // guarded by the Recorder's lock: in the order of addition
}

var (
	_ bridges.Checker    = (*instance)(nil)
	_ bridges.Audience   = (*instance)(nil)
	_ bridges.Failer     = (*instance)(nil)
	_ bridges.Withdrawer = (*instance)(nil)
)

// read reads a connection string.
func (i *instance) read(connection string) (begin func() (*recording, error), err error) {
	all, common := i.format.Options()
	target, given, err := bridges.ReadOptions(connection, all)
	if err != nil {
		return nil, err
	}
	if target == "" {
		return nil, fmt.Errorf("%w: no path; want a folder", bridges.ErrConnectionString)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(i.Env.OutDir, target)
	}
	target = filepath.Clean(target)
	keys, err := simtime.RateOf(common.Keyframes)
	if err != nil {
		return nil, fmt.Errorf("%w: keyframes: %w", bridges.ErrConnectionString, err)
	}
	m, err := readMap(common.Map)
	if err != nil {
		return nil, fmt.Errorf("%w: map: %w", bridges.ErrConnectionString, err)
	}
	if err := i.format.Channels(nil, m, all); err != nil && !errors.Is(err, ErrRig) {
		return nil, fmt.Errorf("%w: map: %w", bridges.ErrConnectionString, err)
	}
	return func() (*recording, error) {
		r := &recording{
			instance: i, all: all, options: common, keys: keys, rules: append(slices.Clone(m.Categories), i.format.Categories()...), assignments: m,
			head: Head{Format: i.format.Info().Name, Version: i.Env.Run.Version, Options: contentOptions(all, given)},
		}
		return r, r.begin(target)
	}, nil
}

// contentOptions are the options that decide on a set's content, with their values.
func contentOptions(all any, given map[string]string) map[string]string {
	values := map[string]string{}
	for _, o := range bridges.OptionsOf(all) {
		if o.Key == "append" || o.Key == "map" {
			continue
		}
		value := o.Default
		if text, ok := given[o.Key]; ok {
			value = text
		}
		if value != "" {
			values[o.Key] = value
		}
	}
	return values
}

// Listening reports whether a set has use for a topic.
func (i *instance) Listening(topic string) bool {
	i.Lock()
	defer i.Unlock()
	for _, in := range i.inputs {
		if in.topic.Name == topic {
			return in.used
		}
	}
	return false
}

// Receivers counts none: a file has none.
func (i *instance) Receivers(string) int { return 0 }

// Withdraw forgets a topic: the scene ends.
func (i *instance) Withdraw(topic *bridges.PublishedTopic) {
	i.Lock()
	defer i.Unlock()
	i.inputs = slices.DeleteFunc(i.inputs, func(in *input) bool {
		if in.topic == topic {
			in.gone = true
		}
		return in.gone
	})
	if r, err := i.Recording(); err == nil {
		r.changed = true
	}
}

// add adds an input. The set of a run that has begun takes it from the next scene on, unless the format refuses it.
func (i *instance) add(in *input) error {
	i.Lock()
	defer i.Unlock()
	with := append(slices.Clip(i.inputs), in)
	if r, err := i.Recording(); err == nil {
		rig, err := r.rig(with)
		if err != nil && len(r.sensors) > 0 {
			return err
		}
		use(with, rig)
		r.changed = true
	}
	i.inputs = with
	return nil
}

// take takes a message.
func (i *instance) take(in *input, m message) error {
	i.Lock()
	defer i.Unlock()
	r, err := i.Recording()
	if err != nil {
		return err
	}
	if err := r.take(in, m); err != nil {
		return i.Fail(err)
	}
	return nil
}

// Errors of folders; callers test them with errors.Is.
var (
	// ErrOccupied says that the folder of a new set has files already.
	ErrOccupied = errors.New("the folder isn't free for a new data set")
	// ErrOtherSet says that a set can't be written on: it has another format or other options.
	ErrOtherSet = errors.New("the folder has another data set")
)

// begin opens the set's folder.
func (r *recording) begin(dir string) error {
	i := r.instance
	r.set = newSet(dir, i.Env.Run, i.Env.Log)
	r.numbers = map[string]int{}
	rig, err := r.rig(i.inputs)
	if err != nil && slices.ContainsFunc(i.inputs, func(in *input) bool { return in.topic.Source != nil }) { // those of no sensor aren't a rig
		return err
	}
	for _, s := range rig {
		if lacks := r.incomplete(s, i.inputs); lacks != "" {
			return fmt.Errorf("%w: camera %s comes without %s: a pipeline needs the bridge's wants (pipeline.Config.Wants)", ErrRig, s.Name, lacks)
		}
	}
	use(i.inputs, rig)
	journal := filepath.Join(dir, filepath.FromSlash(JournalFile))
	former, err := OpenJournal(dir)
	switch {
	case err == nil && former.Head.Format == r.head.Format && former.empty():
		err = r.start(journal) // of a run that ended before its first key frame
	case err == nil && !r.options.Append:
		return fmt.Errorf("%s: %w: it holds a data set: name another folder, or write on with append=true", dir, ErrOccupied)
	case err == nil:
		err = r.resume(former, journal)
	case !vacant(dir):
		return fmt.Errorf("%s: %w: it holds files that are no data set of raybridge: name another folder", dir, ErrOccupied)
	default:
		err = r.start(journal)
	}
	if err != nil {
		return err
	}
	r.writer = i.format.NewWriter(r.set, r.all)
	r.sweeps, _ = r.writer.(SweepWriter)
	r.changed = true
	r.tellUnknown()
	return nil
}

// tellUnknown logs the sensors of a map that the run hasn't got: their names may be wrong, or they come later.
func (r *recording) tellUnknown() {
	var unknown []string
	for _, a := range r.assignments.Sensors {
		if !slices.ContainsFunc(r.instance.inputs, func(in *input) bool { return in.of == a.Name }) {
			unknown = append(unknown, a.Name)
		}
	}
	if len(unknown) > 0 {
		r.set.Log.Warn("the map of the data set names sensors that the run hasn't got", "set", r.set.Dir, "sensors", strings.Join(unknown, " "))
	}
}

// vacant reports whether a folder isn't there or has nothing in it.
func vacant(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// start begins a journal.
func (r *recording) start(path string) (err error) {
	if r.journal, err = r.instance.Create(path); err != nil {
		return err
	}
	return r.write(r.head)
}

// resume continues a journal, behind its last whole row.
func (r *recording) resume(former *Journal, path string) error {
	if former.Head.Format != r.head.Format {
		return fmt.Errorf("%s: %w: its format is %s", r.set.Dir, ErrOtherSet, former.Head.Format)
	}
	for key, value := range r.head.Options {
		if before := former.Head.Options[key]; before != value {
			return fmt.Errorf("%s: %w: it was written with %s=%s, and this is %s=%s", r.set.Dir, ErrOtherSet, key, before, key, value)
		}
	}
	if _, err := former.cut(); err != nil {
		return err
	}
	if err := sweepFolder(r.instance.format, former, r.set.Dir); err != nil {
		return err
	}
	for row, err := range former.Rows() {
		if err != nil {
			return err
		}
		if row.Scene != nil {
			r.numbers[row.Scene.Run] = max(r.numbers[row.Scene.Run], row.Scene.Number+1)
			r.scenes++
		} else {
			r.frames++
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o666)
	if err != nil {
		return fmt.Errorf("open journal: %w", fault.File(err))
	}
	r.journal = bridges.FileOn(f, path)
	return r.journal.Rewind(former.size)
}

// Path names the set.
func (r *recording) Path() string { return r.set.Dir }

// End completes the set: the tables are written.
func (r *recording) End() error {
	r.flush()
	_, _, err := r.set.settle()
	return errors.Join(err, r.journal.Commit(), r.finish())
}

// finish removes what no row names and writes the tables.
func (r *recording) finish() error {
	journal, err := OpenJournal(r.set.Dir)
	if err != nil {
		return err
	}
	if err := sweepFolder(r.instance.format, journal, r.set.Dir); err != nil {
		return err
	}
	return tables(r.instance.format, r.set.Dir)
}

// Salvage completes the set up to its last key frame. A disk that is full has no room for tables, so that the last key frames make
// room for those of the others.
func (r *recording) Salvage() error {
	r.flush()
	_, _, _ = r.set.settle() // what ended the recording is told already
	err := r.journal.Salvage()
	for drop := 1; ; drop *= 2 {
		finished := r.finish()
		if err != nil || !errors.Is(finished, syscall.ENOSPC) || !r.shorten(drop) {
			return errors.Join(err, finished)
		}
	}
}

// shorten cuts up to n rows off the journal's end, and reports whether there were any.
func (r *recording) shorten(n int) bool {
	journal, err := OpenJournal(r.set.Dir)
	if err != nil {
		return false
	}
	var ends []int64
	for row, err := range journal.from(0) {
		if err != nil {
			return false
		}
		ends = append(ends, row.at)
	}
	if len(ends) == 0 {
		return false
	}
	return r.journal.Rewind(ends[max(0, len(ends)-n)]) == nil
}

// Settle closes the journal.
func (r *recording) Settle() error { return r.journal.Settle() }

// Recover completes a set whose run was killed, or that couldn't be completed: up to the last key frame that the journal has whole,
// it becomes what a run of as many key frames would have written. formats are those that the set may have. A set that is
// complete stays as it is. It returns how many key frames there are. Errors wrap ErrNoSet where the folder has no set.
func Recover(dir string, formats []Format) (frames int, err error) {
	journal, err := OpenJournal(dir)
	if err != nil {
		return 0, err
	}
	format, err := formatOf(formats, journal.Head.Format)
	if err != nil {
		return 0, err
	}
	if _, err := journal.options(format); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	if frames, err = journal.cut(); err != nil {
		return 0, err
	}
	if err := os.Truncate(journal.path, journal.size); err != nil {
		return 0, fmt.Errorf("cut the journal behind its last key frame: %w", fault.File(err))
	}
	if err := sweepFolder(format, journal, dir); err != nil {
		return 0, err
	}
	return frames, tables(format, dir)
}

// sweepFolder removes what the format's data folders hold and the journal doesn't name: files of key frames that weren't finished.
func sweepFolder(format Format, journal *Journal, dir string) error {
	named := map[string]bool{}
	for row, err := range journal.Rows() {
		if err != nil {
			return err
		}
		if row.Frame != nil {
			for _, name := range row.Frame.Files {
				named[name] = true
			}
		}
	}
	for _, folder := range format.Folders() {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil || named[filepath.ToSlash(name)] {
				return err
			}
			return os.Remove(path)
		})
		if err != nil {
			return fmt.Errorf("remove what no key frame has: %w", fault.File(err))
		}
	}
	return nil
}
