package kitti_test

import (
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/bridges/kitti"
)

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        dataset.NewFactory(kitti.Format),
		Connection:     "sub/set?append=true",
		BadConnections: []string{"", "?keyframes=2", "set?keyframes=0", "set?scene=0s", "set?quality=0", "set?map=missing.yaml", "set?colour=red", "set?append=yes", "set?%zz"},
	})
}
