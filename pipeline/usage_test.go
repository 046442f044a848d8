package pipeline

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUsageIsOverWhenNobodyIsLeft(t *testing.T) {
	var u usage
	u.init()
	isOver := func() bool {
		select {
		case <-u.gone:
			return true
		default:
			return false
		}
	}
	assert.True(t, u.begin())
	u.exit()
	assert.False(t, isOver(), "it may be used again")
	assert.True(t, u.begin())
	assert.False(t, u.isClosing())
	gone := u.close()
	assert.True(t, u.isClosing())
	assert.False(t, u.begin(), "no new work")
	assert.True(t, u.enter(), "what was begun may be finished")
	u.exit()
	assert.False(t, isOver())
	u.exit()
	assert.True(t, isOver())
	assert.False(t, u.enter())
	assert.Equal(t, gone, u.close(), "again")
}

// TestUsageUnderWay: nobody who was let in is still there once it is over.
func TestUsageUnderWay(t *testing.T) {
	for range 200 {
		var u usage
		u.init()
		var users sync.WaitGroup
		var ended sync.Mutex // not held by any user once gone
		for k := range 4 {
			users.Go(func() {
				for {
					allowed := u.begin
					if k%2 == 0 {
						allowed = u.enter
					}
					if !allowed() {
						return
					}
					if !ended.TryLock() {
						u.exit()
						continue
					}
					ended.Unlock()
					u.exit()
				}
			})
		}
		<-u.close()
		assert.True(t, ended.TryLock())
		users.Wait()
	}
}
