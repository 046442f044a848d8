package save

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// foreign is the line of a message that only its own sensor knows the layout of.
type foreign struct {
	Name          string
	Frame         string
	Time          json.Number
	StampNs       int64
	Sequence      uint64
	SensorNumber  uint16
	SchemaVersion uint16
	Body          []byte
}

// appendLine appends a message as a line of JSON, in the logging bridge's form; sensor
// is who made it. Errors wrap ErrContent.
func appendLine(dst []byte, sensor string, m wire.Message) ([]byte, error) {
	msg, err := wire.Decode(m)
	if err == nil {
		dst, err = logging.AppendJSON(dst, sensor, msg)
	} else if m.Kind() == wire.KindForeign {
		var object []byte
		object, err = json.Marshal(foreign{
			sensor, m.FrameID(), json.Number(seconds(m.CaptureNs())), m.CaptureNs(), m.Sequence(),
			m.Type().Number(), m.SchemaVersion(), m.Body(),
		})
		dst = append(dst, object...)
	}
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrContent, err)
	}
	return append(dst, '\n'), nil
}

// contentError marks errors of opening a message.
func contentError(err error) error {
	if err == nil || errors.Is(err, ErrContent) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrContent, err)
}
