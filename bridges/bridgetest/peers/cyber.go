package peers

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Cyber follows the rules of Apollo's cyber_bridge. It was written from the description of
// the protocol alone (docs/bridges/cyber.md). No foreign server can be had here:
// cyber_bridge is built and run within Apollo only.
//
// All integers are u32, little endian. A client sends
//
//	op 1: count, then count times a length and a FileDescriptorProto
//	op 2: length, channel, length, type: it wants the channel's messages
//	op 3: length, channel, length, type: it will publish on the channel
//	op 4: length, channel, length, message
//
// and is sent op 4. Nothing is acknowledged. An op of another number ends the connection. A
// file whose imports aren't registered is logged and thrown away. So is a writer of a type that
// isn't known, and from then on the channel's messages are dropped. The type of a reader is
// ignored. What a client doesn't take is kept up to a limit, then dropped. Readers and writers
// of one channel are shared by all clients and end with the last that has them.
type Cyber struct {
	framed
	config CyberConfig

	types    types               // guarded by mu
	channels map[string]*channel // guarded by mu
	last     map[string][]byte   // guarded by mu: the last message of each channel
}

// CyberConfig says what a server does; the zero value follows cyber_bridge.
type CyberConfig struct {
	// Address is HOST:PORT; default any free port of the loopback interface.
	Address string
	// Pending bounds what waits for one client, bytes; default 1 GiB.
	Pending int
	// Received is called with each message on a channel that has a writer, one at a
	// time, on a client's goroutine. The bytes are good until it returns. (optional)
	Received func(channel string, message []byte)
}

// channel has who reads and writes.
type channel struct {
	readers map[*conn]int // how often each has registered
	writers map[*conn]protoreflect.MessageDescriptor
}

// NewCyber returns a server that isn't started.
func NewCyber(config CyberConfig) *Cyber {
	s := &Cyber{config: config, channels: map[string]*channel{}, last: map[string][]byte{}}
	s.init(config.Address, config.Pending)
	s.do, s.left = s.operate, s.forget
	return s
}

// Start begins to listen. After Kill it knows no types, and counts on.
func (s *Cyber) Start() error {
	s.mu.Lock()
	if s.listener == nil {
		s.types = types{}
	}
	s.mu.Unlock()
	return s.Server.Start()
}

// Numbers of cyber_bridge's ops.
const (
	cyberRegister  = 1
	cyberAddReader = 2
	cyberAddWriter = 3
	cyberPublish   = 4
)

func (s *Cyber) operate(c *conn, code byte, in *bufio.Reader) error {
	if code == cyberRegister {
		return s.register(in)
	}
	if code < cyberRegister || code > cyberPublish {
		return fmt.Errorf("unknown op %d", code)
	}
	name, body, err := readFields(in)
	if errors.Is(err, errCut) {
		return errGone
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.conns[c] {
		return errGone
	}
	switch code {
	case cyberAddReader:
		s.channel(name).readers[c]++
	case cyberAddWriter:
		typ := s.types.find(string(body))
		if typ == nil {
			s.logf("cannot find the descriptor of %q for channel %q", body, name)
			return nil
		}
		s.channel(name).writers[c] = typ
	case cyberPublish:
		s.published(name, body)
	}
	return nil
}

// register reads the files of op 1.
func (s *Cyber) register(in *bufio.Reader) error {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return errGone
	}
	for range binary.LittleEndian.Uint32(head[:]) {
		file, err := readField(in)
		if err != nil {
			return errGone
		}
		s.mu.Lock()
		if err := s.types.register(file); err != nil {
			s.logf("%v", err)
		}
		s.mu.Unlock()
	}
	return nil
}

// published takes a message of a client; mu must be held.
func (s *Cyber) published(name string, message []byte) {
	if s.writer(name) == nil {
		s.logf("no writer on channel %q, message dropped", name)
		return
	}
	s.received[name]++
	s.last[name] = append(s.last[name][:0], message...)
	if s.config.Received != nil {
		s.config.Received(name, message)
	}
	s.forward(name, message)
}

// channel returns a channel, a new one where there is none; mu must be held.
func (s *Cyber) channel(name string) *channel {
	at := s.channels[name]
	if at == nil {
		at = &channel{readers: map[*conn]int{}, writers: map[*conn]protoreflect.MessageDescriptor{}}
		s.channels[name] = at
	}
	return at
}

// forget takes a client out of all channels; mu must be held.
func (s *Cyber) forget(c *conn) {
	for name, at := range s.channels {
		delete(at.readers, c)
		delete(at.writers, c)
		if len(at.readers)+len(at.writers) == 0 {
			delete(s.channels, name)
		}
	}
}

// Publish has a message arrive from elsewhere on a channel: all clients with a reader
// are sent it.
func (s *Cyber) Publish(channel string, message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forward(channel, message)
}

// forward queues a message for those that read the channel; mu must be held.
func (s *Cyber) forward(name string, message []byte) {
	if at := s.channels[name]; at != nil {
		for c := range at.readers {
			s.post(c, appendOp(nil, cyberPublish, name, message))
		}
	}
}

// Last decodes the last message of a channel, with the descriptors that the writing
// client sent.
func (s *Cyber) Last(channel string) (*dynamicpb.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	typ := s.writer(channel)
	data, ok := s.last[channel]
	if typ == nil || !ok {
		return nil, fmt.Errorf("channel %q has no writer or no message", channel)
	}
	return decode(typ, data)
}

// writer returns the type of a channel's writer, nil for none; mu must be held.
func (s *Cyber) writer(name string) protoreflect.MessageDescriptor {
	if at := s.channels[name]; at != nil {
		for _, typ := range at.writers {
			return typ
		}
	}
	return nil
}

// Writers returns the full name of the type of each channel that has a writer.
func (s *Cyber) Writers() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]string{}
	for name := range s.channels {
		if typ := s.writer(name); typ != nil {
			names[name] = string(typ.FullName())
		}
	}
	return names
}

// Readers returns the channels that have a reader, sorted.
func (s *Cyber) Readers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.channels)), func(name string) bool { return len(s.channels[name].readers) == 0 })
}

// Subscriptions returns how often the clients that are connected have registered a reader
// of a channel.
func (s *Cyber) Subscriptions(channel string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.channels[channel]; at != nil {
		for _, times := range at.readers {
			n += times
		}
	}
	return n
}

// types are the messages whose descriptors clients have sent. It knows no others, in
// particular none that are compiled into the program.
type types struct{ files protoregistry.Files }

// register adds one file. A file that is known already is left as it is.
func (t *types) register(data []byte) error {
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("a descriptor that can't be read: %w", err)
	}
	if _, err := t.files.FindFileByPath(file.GetName()); err == nil {
		return nil
	}
	built, err := protodesc.NewFile(&file, &t.files)
	if err != nil {
		return fmt.Errorf("descriptor of %q: %w", file.GetName(), err)
	}
	return t.files.RegisterFile(built)
}

// find returns the type with the full name, nil for one that isn't known.
func (t *types) find(name string) protoreflect.MessageDescriptor {
	d, err := t.files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	message, _ := d.(protoreflect.MessageDescriptor)
	return message
}

// decode reads a message of a type; one with a field that its type lacks is an error.
func decode(typ protoreflect.MessageDescriptor, data []byte) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(typ)
	if err := proto.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		return nil, fmt.Errorf("%d bytes of unknown fields", len(unknown))
	}
	return m, nil
}
