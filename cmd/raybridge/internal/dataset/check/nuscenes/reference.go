package nuscenes

import (
	"encoding/json"
	"io/fs"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// link is a row of a chain.
type link struct {
	token, prev, next string
	// chain is that of the row, of any comparable type.
	chain any
	stamp int64
}

// chainEnds are the first and the last row of a chain.
type chainEnds struct{ first, last string }

// checkChains checks prev and next of all rows of a table, and returns the ends of the chains that are whole.
func (s *set) checkChains(f *check.Findings, table string, links []link) map[any]chainEnds {
	file := s.table(table)
	byToken := map[string]*link{}
	for i := range links {
		byToken[links[i].token] = &links[i]
	}
	ends := map[any]chainEnds{}
	broken := map[any]bool{}
	starts, stops := map[any]int{}, map[any]int{}
	var chains []any // in the order of the table
	for i := range links {
		l := &links[i]
		at := check.Place{File: file, Row: l.token}
		fail := func(format string, args ...any) {
			f.Add(ruleChain, at, format, args...)
			broken[l.chain] = true
		}
		e, known := ends[l.chain]
		if !known {
			chains = append(chains, l.chain)
		}
		switch prev := byToken[l.prev]; {
		case l.prev == "":
			starts[l.chain]++
			e.first = l.token
		case prev == nil:
			f.Add(ruleKey, at, "prev %q isn't a row of %s", l.prev, table)
			broken[l.chain] = true
		case prev.next != l.token:
			fail("prev is %s, whose next is %q", l.prev, prev.next)
		}
		switch next := byToken[l.next]; {
		case l.next == "":
			stops[l.chain]++
			e.last = l.token
		case next == nil:
			f.Add(ruleKey, at, "next %q isn't a row of %s", l.next, table)
			broken[l.chain] = true
		case next.prev != l.token:
			fail("next is %s, whose prev is %q", l.next, next.prev)
		case next.chain != l.chain:
			fail("next is %s, of another scene, channel or instance", l.next)
		case next.stamp <= l.stamp:
			f.Add(ruleOrder, at, "next is %s, which is %d µs earlier: times must rise", l.next, l.stamp-next.stamp)
		}
		ends[l.chain] = e
	}
	for _, chain := range chains {
		e := ends[chain]
		if !broken[chain] && (starts[chain] != 1 || stops[chain] != 1) {
			row := e.first
			if row == "" {
				row = e.last
			}
			f.Add(ruleChain, check.Place{File: file, Row: row}, "its chain has %d starts and %d ends: one of each is wanted", starts[chain], stops[chain])
			broken[chain] = true
		}
	}
	for chain := range broken {
		delete(ends, chain)
	}
	return ends
}

// channelOf is the chain of a sample_data.
type channelOf struct {
	scene  *scene
	sensor *sensor
}

func (d *data) channel() channelOf {
	c := channelOf{}
	if d.sample != nil {
		c.scene = d.sample.scene
	}
	if d.sensor != nil {
		c.sensor = d.sensor.sensor
	}
	return c
}

// name is the channel's, "" for an unknown one.
func (c channelOf) name() string {
	if c.sensor == nil {
		return ""
	}
	return c.sensor.channel
}

// checkReferences checks how rows refer to one another.
func (s *set) checkReferences(f *check.Findings) {
	var links []link
	for _, m := range s.sampleList {
		links = append(links, link{m.token, m.prev, m.next, m.scene, m.stamp})
	}
	ends := s.checkChains(f, "sample", links)
	for _, c := range s.sceneList {
		at := check.Place{File: s.table("scene"), Row: c.token}
		if int(c.count) != len(c.samples) {
			f.Add(ruleCount, at, "nbr_samples is %d, the scene has %d", c.count, len(c.samples))
		}
		checkEnds(f, at, ends, c, chainEnds{c.first, c.last})
	}
	links = links[:0]
	for _, d := range s.dataList {
		links = append(links, link{d.token, d.prev, d.next, d.channel(), d.stamp})
	}
	s.checkChains(f, "sample_data", links)
	links = links[:0]
	for _, a := range s.annotationList {
		l := link{a.token, a.prev, a.next, a.instance, 0}
		if a.sample != nil {
			l.stamp = a.sample.stamp
		}
		links = append(links, l)
	}
	ends = s.checkChains(f, "sample_annotation", links)
	for _, i := range s.instanceList {
		at := check.Place{File: s.table("instance"), Row: i.token}
		if int(i.count) != len(i.boxes) {
			f.Add(ruleCount, at, "nbr_annotations is %d, the instance has %d", i.count, len(i.boxes))
		}
		checkEnds(f, at, ends, i, chainEnds{i.first, i.last})
		s.checkInstance(f, at, i)
	}
	s.checkKeyFrames(f)
	s.checkTimes(f)
	s.checkSplits(f)
}

// checkEnds compares the ends that a row names with those of its chain.
func checkEnds(f *check.Findings, at check.Place, ends map[any]chainEnds, chain any, named chainEnds) {
	if e, ok := ends[chain]; ok && e != named {
		f.Add(ruleCount, at, "the first and last tokens are %s and %s: those of its chain are %s and %s", named.first, named.last, e.first, e.last)
	}
}

func (s *set) checkInstance(f *check.Findings, at check.Place, i *instance) {
	seen := map[*sample]bool{}
	for _, a := range i.boxes {
		if a.sample == nil {
			continue
		}
		if seen[a.sample] {
			f.Add(ruleScene, at, "the instance has two boxes in the sample %s", a.sample.token)
		}
		seen[a.sample] = true
		if first := i.boxes[0].sample; first != nil && first.scene != a.sample.scene {
			f.Add(ruleScene, at, "the instance has boxes in two scenes")
			return
		}
	}
}

// checkKeyFrames checks that samples have all channels of their scene once.
func (s *set) checkKeyFrames(f *check.Findings) {
	channels := map[*scene][]channelOf{}
	for _, d := range s.dataList {
		if c := d.channel(); c.scene != nil && c.sensor != nil && !slices.Contains(channels[c.scene], c) {
			channels[c.scene] = append(channels[c.scene], c)
		}
	}
	for _, m := range s.sampleList {
		at := check.Place{File: s.table("sample"), Row: m.token}
		top := false
		for _, c := range channels[m.scene] {
			n := 0
			for _, d := range m.keys {
				if d.channel() == c {
					n++
				}
			}
			if n != 1 {
				f.Add(ruleChannel, at, "the sample has %d key frames of %s: one is wanted", n, c.name())
			}
			top = top || c.name() == "LIDAR_TOP" && n > 0
		}
		if !top {
			f.Add(ruleLidarTop, at, "the sample has no LIDAR_TOP: evaluations refuse the set")
		}
	}
}

// Times between samples, in microseconds. Beyond the first the devkit has no velocities. Key frames of any use are within the others.
const (
	slowKeyFrames    = 1_500_000
	slowestKeyFrames = 100_000_000
	fastestKeyFrames = 1_000
)

// checkTimes compares times of samples, their data and poses.
func (s *set) checkTimes(f *check.Findings) {
	periods := s.periods()
	for _, d := range s.dataList {
		at := check.Place{File: s.table("sample_data"), Row: d.token}
		if d.ego != nil && d.ego.stamp != d.stamp {
			f.Add(rulePoseTime, at, "the timestamp is %d, that of its ego_pose %s is %d", d.stamp, d.ego.token, d.ego.stamp)
		}
		if d.sample == nil || d.channel().sensor == nil {
			continue
		}
		off := d.stamp - d.sample.stamp
		switch most := periods[d.channel()] / 2; {
		case !d.key:
			s.checkSweep(f, at, d)
		case d.channel().name() == "LIDAR_TOP" && off != 0:
			f.Add(ruleKeyTime, at, "LIDAR_TOP's key frame is %d µs away from its sample: it gives the sample its time", off)
		case most > 0 && max(off, -off) > most+1:
			f.Add(ruleKeyTime, at, "the key frame is %d µs away from its sample, and %s has a picture or sweep each %d µs", off, d.channel().name(), 2*most)
		}
	}
	for _, m := range s.sampleList {
		next := s.samples[m.next]
		if next == nil || next.stamp <= m.stamp {
			continue
		}
		at := check.Place{File: s.table("sample"), Row: m.token}
		switch gap := next.stamp - m.stamp; {
		case gap > slowestKeyFrames || gap < fastestKeyFrames:
			f.Add(ruleTime, at, "the next sample is %d µs later: the times' unit must be another one than microseconds", gap)
		case gap > slowKeyFrames:
			f.Add(ruleKeyRate, at, "the next sample is %.6g s later: beyond 1.5 s the devkit has no velocity of boxes", float64(gap)/1e6)
		}
	}
}

// periods are the median times between neighbours of each channel, in microseconds.
func (s *set) periods() map[channelOf]int64 {
	gaps := map[channelOf][]int64{}
	for _, d := range s.dataList {
		if next := s.datas[d.next]; next != nil && next.stamp > d.stamp {
			gaps[d.channel()] = append(gaps[d.channel()], next.stamp-d.stamp)
		}
	}
	medians := map[channelOf]int64{}
	for c, g := range gaps {
		slices.Sort(g)
		medians[c] = g[len(g)/2]
	}
	return medians
}

// checkSweep checks that no sample lies between a sweep and the one it belongs to. Those behind the last sample belong to that.
func (s *set) checkSweep(f *check.Findings, at check.Place, d *data) {
	m := d.sample
	if d.stamp > m.stamp && m.next != "" {
		f.Add(ruleSweep, at, "the sweep is %d µs later than its sample: it belongs to the one that follows it", d.stamp-m.stamp)
	} else if prev := s.samples[m.prev]; prev != nil && d.stamp <= prev.stamp {
		f.Add(ruleSweep, at, "the sweep is %d µs earlier than the sample before its own", prev.stamp-d.stamp)
	}
}

// checkSplits reads splits.json, which a set may have.
func (s *set) checkSplits(f *check.Findings) {
	file := s.table("splits")
	text, err := fs.ReadFile(s.root, file)
	if err != nil {
		return
	}
	at := check.Place{File: file}
	var splits map[string][]string
	if err := json.Unmarshal(text, &splits); err != nil {
		f.Add(ruleSplits, at, "it must have a list of scenes by each split's name: %v", err)
		return
	}
	names := map[string]bool{}
	for _, c := range s.sceneList {
		names[c.name] = true
	}
	in := map[string]string{}
	for split, scenes := range splits {
		for _, name := range scenes {
			if !names[name] {
				f.Add(ruleSplits, at, "%s has %q, which isn't a scene of the set", split, name)
			}
			if other := in[name]; other != "" {
				f.Add(ruleSplits, at, "%s is in two splits", name)
			}
			in[name] = split
		}
	}
}
