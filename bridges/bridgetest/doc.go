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
// errors, counts, and that messages are delivered and left as they were.
package bridgetest
