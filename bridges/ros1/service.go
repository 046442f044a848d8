package ros1

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bluenviron/goroslib/v2/pkg/protocommon"
	"github.com/bluenviron/goroslib/v2/pkg/prototcp"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// maxRequest is the length of a service's request that is still read, bytes.
const maxRequest = 1 << 20

// service is a service that the node offers. It lasts as long as its instance.
type service struct {
	name, typ, md5 string
	answerer       rossample.Answerer
	// turn has a token while no call is being answered.
	turn chan struct{}
}

// offer is the rossample.Offer of this bridge.
func offer(i bridges.Instance, name string, answerer rossample.Answerer) error {
	md5, err := ros.ServiceMD5(answerer.Type.Type)
	if err != nil {
		return err
	}
	global, ok := globalName(name)
	if !ok {
		return badName(name)
	}
	s := &service{name: global, typ: ros.ROS1.TypeName(answerer.Type.Type), md5: md5, answerer: answerer, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return i.(*instance).add(s)
}

// serve answers a caller of a service: one call, or as many as it likes if it says that
// it is persistent.
func (s *session) serve(header protocommon.HeaderRaw) error {
	name := header["service"]
	offered := named[*service](s.node.instance, name)
	if offered == nil {
		s.refuse(fmt.Errorf("%s doesn't offer the service %s", s.node.caller(), name))
		return nil
	}
	if !matches(header["md5sum"], offered.md5) {
		err := fmt.Errorf("service %s of %s is a %s with md5sum %s, not %s", name, s.node.caller(), offered.typ, offered.md5, header["md5sum"])
		s.note(transport.TroubleFailed, err)
		s.refuse(err)
		return nil
	}
	err := s.client.Post(encodeHeader(&prototcp.HeaderServiceProvider{
		Callerid: s.node.caller(), Md5sum: offered.md5, Type: offered.typ,
		RequestType: offered.typ + "Request", ResponseType: offered.typ + "Response",
	}))
	if err != nil || header["probe"] == "1" { // rosservice asks what there is
		s.client.Part()
		return err
	}
	persistent := header["persistent"] == "1"
	for {
		if err := s.answer(offered, persistent); err != nil {
			return err
		}
		if !persistent {
			s.client.Part()
			return nil
		}
	}
}

// answer reads a request, has it answered, and sends the response. That is a byte that says
// whether it went well, then the length and the response, or the error's text.
func (s *session) answer(offered *service, persistent bool) error {
	limit := headerLimit
	if persistent {
		limit = idle
	}
	var length [4]byte
	if _, err := s.read(length[:], len(length), limit); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxRequest {
		return fmt.Errorf("%w: a request of %d bytes to %s is announced", transport.ErrProtocol, n, offered.name)
	}
	data := make([]byte, n)
	if _, err := s.read(data, len(data), headerLimit); err != nil {
		return err
	}
	var frame []byte
	response, err := offered.call(s, data)
	if err == nil {
		frame = appendFrame([]byte{1}, response)
	} else {
		frame = appendFrame([]byte{0}, []byte(err.Error()))
	}
	if errors.Is(err, transport.ErrProtocol) {
		s.note(transport.TroubleUnread, err)
	}
	return s.client.Post(frame)
}

// call has one request answered, after those before it.
func (s *service) call(caller *session, data []byte) ([]byte, error) {
	request := s.answerer.Type.NewRequest()
	decoder := encode.ROS1.Decoder()
	if err := decoder.Decode(data, request); err != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrProtocol, err)
	}
	ctx := caller.node.ctx
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, flow.ErrClosed
	}
	defer func() { s.turn <- struct{}{} }()
	response, err := s.answerer.Answer(ctx, request)
	if err != nil {
		return nil, err
	}
	encoder := encode.ROS1.Encoder()
	return encoder.Append(nil, response), encoder.Err()
}

func appendFrame(dst, content []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(content)))
	return append(dst, content...)
}
