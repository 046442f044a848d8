package flow_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/flow"
)

func TestUsageIsOverWhenNobodyIsLeft(t *testing.T) {
	u := flow.NewUsage()
	assert.True(t, u.Begin())
	u.Exit()
	assert.True(t, u.Begin(), "it may be used again")
	assert.False(t, u.Closing())
	assert.False(t, u.Idle())
	gone := u.Close()
	isOver := func() bool {
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}
	assert.True(t, u.Closing())
	assert.False(t, u.Begin(), "no new work")
	assert.True(t, u.Enter(), "what was begun may be finished")
	u.Exit()
	assert.False(t, isOver())
	u.Exit()
	assert.True(t, isOver())
	assert.False(t, u.Enter())
	assert.Equal(t, gone, u.Close(), "again")
}

// TestUsageUnderWay: nobody who was let in is still there once it is over.
func TestUsageUnderWay(t *testing.T) {
	for range 200 {
		u := flow.NewUsage()
		var users sync.WaitGroup
		var ended sync.Mutex // not held by any user once gone
		for k := range 4 {
			users.Go(func() {
				for {
					allowed := u.Begin
					if k%2 == 0 {
						allowed = u.Enter
					}
					if !allowed() {
						return
					}
					if !ended.TryLock() {
						u.Exit()
						continue
					}
					ended.Unlock()
					u.Exit()
				}
			})
		}
		<-u.Close()
		assert.True(t, ended.TryLock())
		users.Wait()
	}
}
