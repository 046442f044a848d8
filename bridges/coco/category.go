package coco

import (
	"fmt"
	"slices"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/scene"
)

// A category is a row of COCO's table of categories.
type category struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Super   string `json:"supercategory"`
	IsThing int    `json:"isthing"`
	Color   [3]int `json:"color"`
}

// things are the categories of COCO's own that traffic has, with COCO's ids, so that a detector that was trained on COCO has
// the same. The tags say which actors they are, and what colour they are shown in.
var things = []struct {
	id          int
	name, super string
	tags        []scene.Tag
}{
	{1, "person", "person", []scene.Tag{scene.TagPedestrian, scene.TagRider}},
	{2, "bicycle", "vehicle", []scene.Tag{scene.TagBicycle}},
	{3, "car", "vehicle", []scene.Tag{scene.TagCar}},
	{4, "motorcycle", "vehicle", []scene.Tag{scene.TagMotorcycle}},
	{6, "bus", "vehicle", []scene.Tag{scene.TagBus}},
	{7, "train", "vehicle", []scene.Tag{scene.TagTrain}},
	{8, "truck", "vehicle", []scene.Tag{scene.TagTruck}},
}

// Ids of categories that COCO hasn't got: COCO's own end at 200.
const (
	firstStuff = 200  // and the semantic tag
	firstOwn   = 1001 // of the map's
)

// rules give the actors their categories.
func rules() (list dataset.Categories) {
	for _, kind := range []string{"bicycle", "motorcycle"} { // with their riders
		list = append(list, dataset.Rule{Type: "vehicle." + kind + "*", Category: kind})
	}
	for _, t := range things {
		for _, tag := range t.tags {
			list = append(list, dataset.Rule{Tag: tag.String(), Category: t.name})
		}
	}
	return append(list, // what no sensor has seen the tag of
		dataset.Rule{Type: "walker.*", Category: "person"}, dataset.Rule{Type: "vehicle.bus*", Category: "bus"},
		dataset.Rule{Type: "vehicle.truck*", Category: "truck"}, dataset.Rule{Type: "vehicle.*", Category: "car"})
}

// stuffByTag returns the category of each semantic tag whose pixels belong to no thing. Pixels of a road user without a category are void.
func stuffByTag() map[uint8]int {
	all := map[uint8]int{}
	for tag := scene.TagUnlabeled + 1; tag < scene.TagCount; tag++ {
		if !tag.RoadUser() {
			all[uint8(tag)] = firstStuff + int(tag)
		}
	}
	return all
}

// table lists all categories: COCO's, those of the map, and the stuff.
func table(own []category) (list []category) {
	for _, t := range things {
		list = append(list, category{ID: t.id, Name: t.name, Super: t.super, IsThing: 1, Color: colorOf(t.tags[0])})
	}
	list = append(list, own...)
	stuff := stuffByTag()
	for tag := range scene.Tag(scene.TagCount) {
		if id, ok := stuff[uint8(tag)]; ok {
			list = append(list, category{ID: id, Name: tag.String(), Super: "stuff", Color: colorOf(tag)})
		}
	}
	return list
}

func colorOf(tag scene.Tag) [3]int {
	c := tag.Color()
	return [3]int{int(c.R), int(c.G), int(c.B)}
}

// ownOf lists the categories of a map that aren't COCO's, numbered in the map's order.
func ownOf(m dataset.Categories) (own []category) {
	known := table(nil)
	for _, r := range m {
		is := func(c category) bool { return c.Name == r.Category }
		if r.Category == "" || slices.ContainsFunc(known, is) || slices.ContainsFunc(own, is) {
			continue
		}
		own = append(own, category{
			ID: firstOwn + len(own), Name: r.Category, Super: "own", IsThing: 1, Color: colorOf(scene.Tag(len(own)+1) % scene.TagCount),
		})
	}
	return own
}

// join adds the categories of another scene to those of a set's.
func join(own, more []category) ([]category, error) {
	for _, c := range more {
		switch i := slices.IndexFunc(own, func(o category) bool { return o.ID == c.ID || o.Name == c.Name }); {
		case i < 0:
			own = append(own, c)
		case own[i] != c:
			return nil, fmt.Errorf("%w %q: another scene of the set was written with other categories in the same place (%q): use one map for all",
				dataset.ErrCategory, c.Name, own[i].Name)
		}
	}
	return own, nil
}
