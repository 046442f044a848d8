// Package bridgetest is the conformance suite of bridges. A bridge's tests call
// [Run] once:
//
//	func TestConformance(t *testing.T) {
//		bridgetest.Run(t, bridgetest.Suite{
//			Factory:        mine.Factory{},
//			Connection:     "out.mine",
//			BadConnections: []string{""},
//			Count:          countMessages,
//		})
//	}
//
// It checks what package bridges promises to those who use a bridge: states,
// errors, counts, and that messages are delivered and left as they were. A network bridge
// brings a [Peer], which is killed, stalled and made to send rubbish; that of a bridge that
// subscribes is a [Sender] too, which the subscriptions are tested with.
package bridgetest
