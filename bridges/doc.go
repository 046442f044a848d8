// Package bridges is the contract between raybridge and the software that
// wants its sensor data: a robot's middleware, a viewer, a file.
//
// # Usage
//
// A [Factory] describes one bridge and registers, on its [Plugin], a converter
// for every message type it carries. A [Registry] holds the factories of one
// program. [Registry.Open] takes "NAME:CONNECTION" and gives a [Bridge]: one
// connection, whose publishers [AddPublisher] makes:
//
//	bridge, err := registry.Open("mcap:drive.mcap", bridges.Env{OutDir: "out", Now: clock.Now})
//	publish, err := bridges.AddPublisher[*sample.Image](bridge, bridges.Topic{Name: "/camera/image"})
//	err = bridge.Connect(ctx)
//	err = publish(ctx, image)
//	err = bridge.Close(ctx)
//
// Messages are pointers to the structures of package sample, or to any type
// that somebody registered with the bridge, without a change to it: package ros
// adds a type from outside to any bridge to ROS, RegPublisher of a bridge's own
// package to that one.
//
// # Concurrency
//
// A Bridge, its publishers and its statistics may be used from any goroutine.
// Two calls of publishers of one bridge may overlap; what they write is then in
// either order. Whoever needs an order calls them from one goroutine.
//
// A publisher never waits for a peer: it writes to a file, or it queues on its
// connection's bounded queue. It may read the message until it returns and
// never changes it (law S4): several bridges are given the same one.
//
// # Time
//
// Bridges read no clock. A message carries its capture stamp; the simulation
// time at which it was handed over comes from [Env.Now]. Given equal messages
// and equal answers of Now, a file bridge writes equal bytes (law T5).
//
// # Failure
//
// Nothing is silent (law S5): an error that a publisher returns is counted
// under its cause (package flow's CauseOf), and what a bridge loses after it had taken it is
// moved from the sent to the dropped messages. [Bridge.Err] tells of a failure
// that ends the connection for good, such as a full disk.
//
// # Testing
//
// Package bridgetest is the conformance suite of bridges: each calls it once.
package bridges
