package bridges

import (
	"fmt"
	"strconv"

	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// QueueOptions are the options of connection strings that ParseQueue reads.
var QueueOptions = []Option{
	{Key: "messages", Value: "N", Default: "64", Meaning: "messages that wait for one peer, at most"},
	{Key: "bytes", Value: "N", Default: "67108864", Meaning: "bytes that wait for one peer, at most"},
}

// ParseQueue reads the options of a connection string that bound what waits for one
// peer: "messages=64&bytes=67108864". Other options are ignored. Errors wrap
// ErrConnectionString.
func ParseQueue(options map[string]string) (queue.Config, error) {
	var c queue.Config
	for key, set := range map[string]func(int64){
		"messages": func(n int64) { c.Messages = int(n) },
		"bytes":    func(n int64) { c.Bytes = n },
	} {
		text, ok := options[key]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return queue.Config{}, fmt.Errorf("%w: %s=%q: want a whole number from 1 on", ErrConnectionString, key, text)
		}
		set(n)
	}
	return c, nil
}
