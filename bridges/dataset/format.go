package dataset

import (
	"github.com/raybridge/raybridge/bridges"
)

// Format is one kind of set: a bridge that NewFactory makes. There is one per program; any goroutine may use it.
type Format interface {
	// Info describes the bridge: Name, Summary, Wants and Gaps. The factory fills in the rest.
	Info() bridges.Info
	// Options returns the connection string's options at their defaults: a pointer to a structure with the tags of
	// bridges.OptionsOf, and the Options that it embeds.
	Options() (all any, common *Options)
	// Categories are the format's own, in the order of rules: the first one that an actor meets holds.
	Categories() Categories
	// Channels names each sensor's channel, or leaves it "", by the map's sensors and its own judgement, and refuses a rig that
	// the format can't write. Errors wrap ErrRig. all is what Options returned, read.
	Channels(sensors []*Sensor, m *Map, all any) error
	// Folders are those below the set's that have nothing but what WriteFile wrote, such as "samples".
	Folders() []string
	// NewWriter begins to write into a set, which may have key frames. all is what Options returned, read. It touches no file.
	NewWriter(set *Set, all any) Writer
	// Tables writes what the format has beside the files that WriteFile wrote, by Set.Replace. All of it is a function of the
	// journal and of those files. It is called when a recording ends, by Recover and after a merge, on any goroutine. all is
	// what Options returned, with the values of the journal's head.
	Tables(set *Set, journal *Journal, all any) error
}

// Writer writes the key frames of one recording. The core calls its methods one at a time.
type Writer interface {
	// WriteScene returns the journal's row of a scene that begins: the calibration of its sensors, for instance.
	WriteScene(scene *Scene) (row any, err error)
	// WriteFrame writes the files of a key frame, by Set.WriteFile, perhaps within jobs of Set.Go, and returns the frame's row
	// of the journal. The row is committed once the jobs have ended.
	WriteFrame(frame *Frame) (row any, err error)
}

// SweepWriter is a Writer that keeps what sensors measure between key frames.
type SweepWriter interface {
	Writer
	// WriteSweep writes a sample that is part of no key frame, by Sweep.Set. Several goroutines call it at once. The row becomes
	// one of the next key frame's Sweeps. The sample is the core's, as a Frame's.
	WriteSweep(sweep *Sweep) (row any, err error)
}

// Sweep is a sample between key frames.
type Sweep struct {
	Capture
	// Scene is that of the key frame behind it.
	Scene *Scene
	// Set is where its files go, and those of no other sweep.
	Set *Set
	// One of these is set. Picture has no labels.
	Picture *Picture
	Cloud   *Cloud
	Radar   *RadarSweep
}
