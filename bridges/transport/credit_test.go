package transport_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// creditor is a client that subscribed with credits, and what it has read.
type creditor struct {
	client *transport.Conn
	stream *transport.Stream
	read   chan string
	conn   net.Conn
}

// lendTo serves one client in a bubble, which ends with the test.
func lendTo(t *testing.T, queue flow.QueueConfig, credits int, o *outcomes) *creditor {
	t.Helper()
	var clients []*transport.Conn
	server := transport.New(transport.Config{Accept: subscriber(&clients), Queue: queue})
	c := &creditor{stream: server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle}), read: make(chan string, 64)}
	ours, theirs := net.Pipe()
	c.conn = ours
	server.Admit(theirs)
	synctest.Wait()
	c.client = clients[0]
	require.True(t, c.stream.SubscribeWith(c.client, transport.Receiver{Credits: credits}))
	t.Cleanup(func() {
		require.NoError(t, ours.Close())
		require.NoError(t, server.Close(t.Context()))
		assert.Zero(t, server.Outstanding())
	})
	return c
}

// reads lets the client read all that comes, messages of one byte.
func (c *creditor) reads() {
	go func() {
		var b [1]byte
		for {
			if _, err := io.ReadFull(c.conn, b[:]); err != nil {
				return
			}
			c.read <- string(b[:])
		}
	}()
}

// has returns what the client has read.
func (c *creditor) has() (all string) {
	synctest.Wait()
	for len(c.read) > 0 {
		all += <-c.read
	}
	return all
}

// counts are those of the stream.
func (c *creditor) counts() transport.StreamCounts {
	for _, one := range c.client.Counts(nil) {
		if one.Stream == c.stream {
			return one
		}
	}
	return transport.StreamCounts{}
}

// A client is sent as many messages as it has credits, then the newest for each that it gives.
func TestCredits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		c := lendTo(t, flow.QueueConfig{}, 2, &o)
		c.reads()
		for _, step := range []struct {
			send   string // messages of one letter
			grant  int
			comes  string
			hungry bool
		}{
			{"a", 0, "a", true},
			{"bcd", 0, "b", false},
			{"", 1, "d", false},
			{"", 1, "", true},
			{"", 9, "", true}, // two are kept
			{"efgh", 0, "ef", false},
			{"i", 2, "i", true},
			{"jk", 0, "j", false},
		} {
			for _, letter := range step.send {
				text(t, c.stream, string(letter))
			}
			if step.grant > 0 {
				c.stream.Grant(c.client, step.grant)
			}
			assert.Equal(t, step.comes, c.has(), "%+v", step)
			assert.Equal(t, step.hungry, c.stream.Hungry(), "%+v", step)
		}
		counts := c.counts()
		assert.Equal(t, int64(11), counts.Offered+1, "the one that is held counts as offered when it goes")
		assert.Equal(t, int64(7), counts.Sent)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 3}, counts.Drops)
		c.stream.Outdate()
		c.stream.Grant(c.client, 1)
		assert.Empty(t, c.has(), "something newer is to come")
		assert.Equal(t, int64(4), c.counts().Dropped)
		c.stream.Pass(2)
		assert.Equal(t, int64(6), c.counts().Dropped)
	})
}

// A message that is held when its client leaves is dropped as not connected.
func TestHeldMessagesOfOneWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		c := lendTo(t, flow.QueueConfig{}, 2, &o)
		c.reads()
		for _, letter := range "abc" {
			text(t, c.stream, string(letter))
		}
		assert.Equal(t, "ab", c.has())
		require.True(t, c.stream.Unsubscribe(c.client))
		c.stream.Grant(c.client, 1)
		assert.Empty(t, c.has())
		assert.Zero(t, c.stream.PoolStats().Outstanding)
	})
}

// A client that gives no credit for a while doesn't count: nothing need be computed for it.
func TestClientsThatTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		c := lendTo(t, flow.QueueConfig{}, 2, &o)
		c.reads()
		time.Sleep(time.Minute)
		assert.Equal(t, 1, c.stream.Takers(time.Second), "it has its credits")
		text(t, c.stream, "a")
		text(t, c.stream, "b")
		assert.Equal(t, 1, c.stream.Takers(time.Second), "it may be drawing")
		time.Sleep(time.Second)
		assert.Zero(t, c.stream.Takers(time.Second))
		c.stream.Grant(c.client, 1)
		assert.Equal(t, 1, c.stream.Takers(time.Second))
		assert.Equal(t, "ab", c.has())
	})
}

// sends sends messages of one letter, one after the other.
func (c *creditor) sends(t *testing.T, letters string) {
	t.Helper()
	for _, letter := range letters {
		text(t, c.stream, string(letter))
		synctest.Wait()
	}
}

// A message that is pushed out of the client's queue gives its credit back: the stream doesn't starve.
func TestCreditsComeBackFromTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		c := lendTo(t, flow.QueueConfig{Policy: flow.DropOldest, Messages: 1}, 3, &o)
		c.sends(t, "abc") // the first is being written, the third pushes the second out
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, c.counts().Drops)
		c.reads()
		assert.Equal(t, "ac", c.has())
		c.stream.Grant(c.client, 1)
		c.sends(t, "def")
		assert.Equal(t, "de", c.has(), "one came back, and one was given")
	})
}

// A message that was held and finds no room gives its credit back, too.
func TestCreditsComeBackWhereThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		c := lendTo(t, flow.QueueConfig{Policy: flow.Block, Messages: 1}, 2, &o)
		c.sends(t, "abc") // the first is being written, the second fills the queue, the third is held
		c.stream.Grant(c.client, 1)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, c.counts().Drops)
		c.reads()
		assert.Equal(t, "ab", c.has())
		c.sends(t, "de")
		assert.Equal(t, "d", c.has())
	})
}
