package roscbor

import "github.com/raybridge/raybridge/bridges/internal/rosmsg"

// AppendRaw appends what rosbridge's compression "cbor-raw" has in place of a message:
// when the server received it, and the message as ROS serialises it.
func AppendRaw(dst []byte, received rosmsg.Time, serialised []byte) []byte {
	e := Encoder{Version: rosmsg.ROS1, buf: append(dst, majorMap|3)}
	e.integer("secs", int64(received.Sec))
	e.integer("nsecs", int64(received.Nanosec))
	e.Bytes("bytes", &rosmsg.Bytes{Data: serialised})
	return e.buf
}
