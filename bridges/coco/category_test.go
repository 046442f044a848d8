package coco

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
)

// TestCategories: ids of things are COCO's, those of stuff the semantic tag's and 200, and those of a map's own 1001 and on.
func TestCategories(t *testing.T) {
	own := ownOf(dataset.Categories{
		{Type: "vehicle.van", Category: "van"}, {Tag: "bus", Category: "bus"}, {Type: "static.*"}, {Type: "a", Category: "animal"}, {Type: "b", Category: "van"},
	})
	names, ids := map[int]string{}, map[string]int{}
	for _, c := range table(own) {
		require.NotContains(t, names, c.ID)
		require.NotContains(t, ids, c.Name)
		names[c.ID], ids[c.Name] = c.Name, c.ID
		assert.Equal(t, c.ID <= 90 || c.ID > 1000, c.IsThing == 1, c.Name)
	}
	for id, name := range map[int]string{ // of instances_val2017.json
		1: "person", 2: "bicycle", 3: "car", 4: "motorcycle", 6: "bus", 7: "train", 8: "truck", 201: "roads", 211: "sky", 1001: "van", 1002: "animal",
	} {
		assert.Equal(t, name, names[id])
	}
	assert.NotContains(t, names, 200, "what has no tag is void")
	assert.NotContains(t, names, 214, "cars are things")

	again, err := join(own, own[1:])
	require.NoError(t, err)
	assert.Equal(t, own, again)
	_, err = join(own, []category{{ID: 1001, Name: "tank", IsThing: 1}})
	assert.ErrorIs(t, err, dataset.ErrCategory)
}

func TestCategoriesOfActors(t *testing.T) {
	for _, tt := range []struct {
		typeID string
		tag    uint8
		want   string
	}{
		{"vehicle.sedan", 14, "car"}, {"vehicle.bicycle", 13, "bicycle"}, {"vehicle.motorcycle", 18, "motorcycle"}, {"walker.tall", 12, "person"},
		{"vehicle.bus", 16, "bus"}, {"vehicle.truck", 15, "truck"}, {"vehicle.tram", 17, "train"}, {"static.building", 3, ""},
	} {
		rule, _ := rules().Of(tt.typeID, tt.tag)
		assert.Equal(t, tt.want, rule.Category, tt.typeID)
	}
}

func TestChannels(t *testing.T) {
	rig := func() []*dataset.Sensor {
		return []*dataset.Sensor{
			{Name: "front/left", Modality: dataset.Camera}, {Name: "roof", Modality: dataset.Lidar}, {Name: "back", Modality: dataset.Camera},
		}
	}
	for name, tt := range map[string]struct {
		m    dataset.Map
		rig  []*dataset.Sensor
		want []string
		err  string
	}{
		"all":   {rig: rig(), want: []string{"front_left", "", "back"}},
		"map":   {rig: rig(), m: dataset.Map{Sensors: []dataset.Assignment{{Name: "back", Channel: "REAR"}}}, want: []string{"", "", "REAR"}},
		"twice": {rig: rig(), m: dataset.Map{Sensors: []dataset.Assignment{{Name: "back", Channel: "A"}, {Name: "front/left", Channel: "A"}}}, err: "front/left and back, have the channel A"},
		"none":  {rig: rig()[1:2], err: "COCO needs a camera"},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := format{}.Options()
			err := format{}.Channels(tt.rig, &tt.m, all)
			if tt.err != "" {
				require.ErrorIs(t, err, dataset.ErrRig)
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			var got []string
			for _, s := range tt.rig {
				got = append(got, s.Channel)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}
