package mcap

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/flow"
)

// series writes a recording, as one file or as several, one after another. Each is
// complete in itself: it has all schemas and channels, and begins with what latched
// topics had published last. One goroutine uses a series at a time.
type series struct {
	opts   options
	create func(path string) (*recordfile.File, error)
	run    bridges.Run
	now    func() int64

	topics []*topic
	number int          // of the current file
	file   *recorder    // the current file; nil where the next one couldn't be made
	former []formerFile // those before it
}

// formerFile is a finished file of a series.
type formerFile struct {
	bagFile
	place recordfile.Place
	tally []tally // of each topic's messages in it
}

// latched is a message that a topic's receivers get even if they come later.
type latched struct {
	sequence    uint32
	publishTime uint64
	data        []byte
}

// mostLatched bounds what is kept of one topic.
const mostLatched = 100

// begin makes the file of the series' number with all its topics.
func (s *series) begin() error {
	file, err := s.create(s.opts.path(s.number))
	if err != nil {
		return err
	}
	rec, err := newRecorder(file, s.opts, s.run)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	rec.now = s.now
	for _, t := range s.topics {
		if err := s.addChannel(rec, t); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	s.file = rec
	return nil
}

// add adds a topic to the recording.
func (s *series) add(t *topic) error {
	if err := s.addChannel(s.file, t); err != nil {
		return err
	}
	s.topics = append(s.topics, t)
	return nil
}

func (s *series) addChannel(rec *recorder, t *topic) error {
	channel, err := rec.addChannel(t.info, t.format.Load(), s.opts.channelMetadata(t.info, t.format.Load()))
	t.channel = channel
	return err
}

// write records one message; times are nanoseconds.
func (s *series) write(t *topic, logTime, publishTime uint64, data []byte) error {
	if s.full(logTime) {
		if err := s.next(logTime); err != nil {
			return err
		}
	}
	t.sequence++
	if s.splits() && t.info.QoS.Durability == flow.TransientLocal {
		t.keep(publishTime, data)
	}
	return s.file.write(t.channel, messageTimes{t.sequence, logTime, publishTime}, data)
}

// keep remembers a message for the files that come.
func (t *topic) keep(publishTime uint64, data []byte) {
	depth := min(max(t.info.QoS.Depth, 1), mostLatched)
	if extra := len(t.latest) - depth + 1; extra > 0 {
		t.latest = slices.Delete(t.latest, 0, extra)
	}
	t.latest = append(t.latest, latched{t.sequence, publishTime, slices.Clone(data)})
}

// splits reports whether the recording may have several files.
func (s *series) splits() bool { return s.opts.splitBytes > 0 || s.opts.splitTime > 0 }

// full reports whether a message of the log time belongs to the next file. The first
// message of a file always has its place.
func (s *series) full(logTime uint64) bool {
	start, any := s.file.begun()
	if !any {
		return false
	}
	return s.opts.splitBytes > 0 && s.file.file.Committed() >= s.opts.splitBytes ||
		s.opts.splitTime > 0 && logTime >= start+uint64(s.opts.splitTime)
}

// next finishes the current file and begins the next one, at a log time.
func (s *series) next(logTime uint64) error {
	if err := s.end(); err != nil {
		return err
	}
	s.retire()
	s.number++
	if err := s.begin(); err != nil {
		return err
	}
	for _, t := range s.topics {
		for _, m := range t.latest {
			if err := s.file.repeat(t.channel, messageTimes{m.sequence, logTime, m.publishTime}, m.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// end finishes the current file.
func (s *series) end() error {
	if err := s.file.close(); err != nil {
		return err
	}
	return s.file.file.Close()
}

// salvage finishes the current file after a failed write.
func (s *series) salvage() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.salvage(), s.file.file.Close())
}

// retire keeps the current file's counts and lets go of the rest.
func (s *series) retire() {
	s.former = append(s.former, s.finished())
	s.file = nil
}

// finished describes the current file, which is complete.
func (s *series) finished() formerFile {
	return formerFile{s.file.bagFile(filepath.Base(s.opts.path(s.number))), s.file.file.Place(), s.file.total()}
}

// missing looks for all files, the current one complete too, counts the messages of those that
// aren't there as lost, and forgets them.
func (s *series) missing() error {
	if s.file != nil {
		s.retire()
	}
	var errs []error
	s.former = slices.DeleteFunc(s.former, func(f formerFile) bool {
		err := f.place.Check()
		if err == nil {
			return false
		}
		errs = append(errs, err)
		for i, t := range f.tally {
			if t.messages > 0 {
				s.topics[i].info.Lost(t.messages, t.bytes, flow.CauseWriteFailed)
			}
		}
		return true
	})
	return errors.Join(errs...)
}

// metadata describes what is complete in the files that retire and missing have left, for
// metadata.yaml.
func (s *series) metadata() *bagMetadata {
	m := &bagMetadata{version: s.opts.metadata}
	for i, t := range s.topics {
		f := t.format.Load()
		row := bagTopic{
			name: t.info.Name, wireType: f.schema.Name, encoding: f.schema.MessageEncoding, qos: t.info.QoS,
			hash: typeHash(f.schema.Name, f.schema.Encoding, f.schema.Data),
		}
		for _, file := range s.former {
			if i < len(file.tally) {
				row.messages += file.tally[i].all()
			}
		}
		m.topics = append(m.topics, row)
	}
	for _, file := range s.former {
		m.files = append(m.files, file.bagFile)
	}
	return m
}
