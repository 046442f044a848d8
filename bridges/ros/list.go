package ros

import (
	"reflect"
	"unsafe"
)

// Messages is an array of messages of one type, as [Visitor] is shown it: List and
// FixedList make one. It refers to the message's own memory.
type Messages struct {
	// size is what an array of a fixed size has, -1 for any number.
	size int
	list messageList
}

// messageList is a list or a fixedList: both are no more than a pointer, which an interface
// holds without allocating. Size is the Messages'.
type messageList interface {
	length(size int) int
	at(size, i int) Message
	clear()
	append() Message
	reserve(n int)
	elementType() string
	element() reflect.Type
}

// List makes a slice of messages visitable, as in v.Messages("points", List(&m.Points)).
// Elements that are appended reuse the slice's memory.
func List[M any, P interface {
	*M
	Message
}](slice *[]M) Messages {
	return Messages{size: -1, list: list[M, P]{slice}}
}

// FixedList makes an array of messages visitable whose type has a size, as in
// v.Messages("corners", FixedList(m.Corners[:])).
func FixedList[M any, P interface {
	*M
	Message
}](array []M) Messages {
	return Messages{size: len(array), list: fixedList[M, P]{unsafe.SliceData(array)}}
}

// Len returns the number of messages.
func (m Messages) Len() int { return m.list.length(m.size) }

// At returns message i, the array's own.
func (m Messages) At(i int) Message { return m.list.at(m.size, i) }

// Fixed reports whether the type has a size, which is Len then. Nothing can be appended to
// such an array, and clearing leaves it as it is.
func (m Messages) Fixed() bool { return m.size >= 0 }

// Clear empties the array and keeps its memory.
func (m Messages) Clear() { m.list.clear() }

// Append adds a message and returns it to be set; its old content, where memory is reused,
// stays until then.
func (m Messages) Append() Message { return m.list.append() }

// Reserve makes room for n messages more, and for no others.
func (m Messages) Reserve(n int) { m.list.reserve(n) }

// Element is the Go type of the messages.
func (m Messages) Element() reflect.Type { return m.list.element() }

// ElementType is the TypeName of the messages.
func (m Messages) ElementType() string { return m.list.elementType() }

type list[M any, P interface {
	*M
	Message
}] struct{ slice *[]M }

func (l list[M, P]) length(int) int { return len(*l.slice) }

func (l list[M, P]) at(_, i int) Message { return P(&(*l.slice)[i]) }

func (l list[M, P]) clear() { *l.slice = (*l.slice)[:0] }

func (l list[M, P]) append() Message {
	s := *l.slice
	if len(s) < cap(s) {
		s = s[:len(s)+1]
	} else {
		var m M
		s = append(s, m)
	}
	*l.slice = s
	return P(&s[len(s)-1])
}

func (l list[M, P]) reserve(n int) {
	if s := *l.slice; cap(s)-len(s) < n {
		*l.slice = append(make([]M, 0, len(s)+n), s...)
	}
}

func (l list[M, P]) elementType() string { return P(new(M)).TypeName() }

func (l list[M, P]) element() reflect.Type { return reflect.TypeFor[M]() }

type fixedList[M any, P interface {
	*M
	Message
}] struct{ first *M }

func (l fixedList[M, P]) length(size int) int { return size }

func (l fixedList[M, P]) at(size, i int) Message { return P(&unsafe.Slice(l.first, size)[i]) }

func (l fixedList[M, P]) clear() {}

func (l fixedList[M, P]) append() Message { panic("ros: append to an array of a fixed size") }

func (l fixedList[M, P]) reserve(int) {}

func (l fixedList[M, P]) elementType() string { return P(new(M)).TypeName() }

func (l fixedList[M, P]) element() reflect.Type { return reflect.TypeFor[M]() }
