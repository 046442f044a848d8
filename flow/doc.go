// Package flow has the words for what can happen to a message between a sensor and a
// receiver: the [Policy] of a full queue, the [QoS] that a topic is offered with, and the
// [Cause] for which a message was not delivered. Every room that carries messages uses
// these words. The package imports no other room.
package flow
