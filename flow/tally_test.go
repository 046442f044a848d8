package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/flow"
)

func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally flow.Tally
		assert.Equal(t, flow.Counts{}, tally.Counts())
		for range 20 { // 10 Hz
			tally.Sent(100)
			time.Sleep(100 * time.Millisecond)
		}
		tally.Lost(2, 200, flow.CauseWriteFailed)
		tally.Dropped(flow.CausePeerSlow)
		got := tally.Counts()
		assert.InDelta(t, 10, got.RateHz, 1)
		want := flow.Counts{
			Messages: 18, Bytes: 1800, RateHz: got.RateHz,
			Drops: flow.Drops{flow.CauseWriteFailed: 2, flow.CausePeerSlow: 1},
		}
		assert.Equal(t, want, got)

		got.Drops.Merge(got.Drops)
		assert.EqualValues(t, 6, got.Drops.Total())
		assert.EqualValues(t, 3, tally.Counts().Drops.Total(), "counts are the caller's")

		time.Sleep(2 * time.Second)
		assert.Zero(t, tally.Counts().RateHz, "silent for two seconds")
	})
}
