package dispatch

import (
	"reflect"

	"github.com/raybridge/raybridge/flow"
)

// tokenOr returns a task's token, or the topic's own under Exclusive.
func (t *topic) tokenOr(token any) any {
	if token == nil && t.cfg.Policy == flow.Exclusive {
		return t
	}
	return token
}

// acquireToken reserves a task's exclusive token (law D4).
func (t *topic) acquireToken(task Task) error {
	d, token := t.d, task.Token
	if !comparableToken(token) {
		return ErrToken
	}
	if _, busy := d.tokens[token]; !busy {
		d.tokens[token] = struct{}{}
		return nil
	}
	if !t.cfg.WaitForToken {
		return ErrTokenBusy
	}
	w := d.newWaiter()
	defer d.freeWaiter(w)
	w.token, w.topic, w.fromCallback = token, t, task.FromCallback
	d.waiting.push(w)
	if !t.await(w, &d.waiting) {
		return ErrTokenBusy
	}
	return w.err
}

// comparableToken reports whether the token can be a map's key that is found again.
// Only structs and arrays can hide an incomparable value in an interface; looking
// into them allocates.
func comparableToken(token any) bool {
	switch reflect.TypeOf(token).Kind() {
	case reflect.Struct, reflect.Array:
		if !reflect.ValueOf(token).Comparable() {
			return false
		}
	case reflect.Slice, reflect.Map, reflect.Func:
		return false
	}
	return equalTokens(token, token) // NaN isn't
}

func equalTokens(a, b any) bool { return a == b }

// freeToken hands the token to who waits for it, else frees it; d.mu must be
// held.
func (d *Dispatcher) freeToken(token any) {
	for w := d.waiting.head; w != nil; w = w.next {
		if w.token == token {
			d.waiting.wake(w, nil)
			return
		}
	}
	delete(d.tokens, token)
}
