package coco

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/raybridge/raybridge/bridges/dataset"
)

// Tables writes instances.json and panoptic.json, or in a set with splits one of each for every split.
func (format) Tables(set *dataset.Set, journal *dataset.Journal, all any) error {
	var own []category
	splits := []string{""}
	if parts := journal.Head.Splits; len(parts) > 0 {
		splits = nil
		for _, s := range parts {
			splits = append(splits, s.Name)
		}
	}
	for row, err := range journal.Rows() {
		if err != nil {
			return err
		}
		if row.Scene == nil {
			continue
		}
		scene, err := sceneOf(row.Scene)
		if err != nil {
			return err
		}
		if own, err = join(own, scene.Categories); err != nil {
			return err
		}
	}
	for _, split := range splits {
		d := document{set: set, journal: journal, split: split, categories: table(own)}
		if err := d.write("instances", d.instances); err != nil {
			return err
		}
		if all.(*options).Panoptic != "on" {
			continue
		}
		if err := d.write("panoptic", d.panoptic); err != nil {
			return err
		}
	}
	return nil
}

// A document is a JSON file of annotations. It is written as its rows are read: a set may be larger than the memory.
type document struct {
	set        *dataset.Set
	journal    *dataset.Journal
	split      string // "" for all
	categories []category
	scene      sceneRow // of the picture that pictures hands out

	w     *bufio.Writer
	comma bool // the list that is being written has an element
}

// sceneOf reads a scene's row.
func sceneOf(row *dataset.SceneRow) (scene sceneRow, err error) {
	if err := json.Unmarshal(row.Data, &scene); err != nil {
		return scene, fmt.Errorf("%w: row of scene %d: %w", dataset.ErrNoSet, row.Number, err)
	}
	return scene, nil
}

// pictures calls a function with each picture of the document, and with its id, which counts from 1 over all of the set. The
// picture's scene is in d.scene.
func (d *document) pictures(each func(id int, p *pictureRow) error) error {
	id, split := 0, ""
	for row, err := range d.journal.Rows() {
		if err != nil {
			return err
		}
		if row.Scene != nil {
			split = d.journal.Head.SplitOf(row.Scene)
			if d.scene, err = sceneOf(row.Scene); err != nil {
				return err
			}
			continue
		}
		var frame frameRow
		if err := json.Unmarshal(row.Frame.Data, &frame); err != nil {
			return fmt.Errorf("%w: row of key frame %d: %w", dataset.ErrNoSet, row.Frame.Number, err)
		}
		for i := range frame.Pictures {
			if id++; split == d.split {
				if err := each(id, &frame.Pictures[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// imageRow is a row of images.
type imageRow struct {
	ID       int    `json:"id"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	FileName string `json:"file_name"`
	Camera   string `json:"camera"`
	// Weather is the configured one of the picture's run.
	Weather json.RawMessage `json:"weather,omitempty"`
}

// write writes the document KIND_SPLIT.json, or KIND.json in a set without splits.
func (d *document) write(kind string, annotations func() error) error {
	name := kind
	if d.split != "" {
		name += "_" + d.split
	}
	return d.set.Replace("annotations/"+name+".json", func(w io.Writer) error {
		d.w = bufio.NewWriterSize(w, 1<<16)
		head := d.journal.Head
		if err := d.list(`{"info":`, "", func() error {
			return d.add(map[string]any{"description": "made by raybridge", "version": head.Version, "options": head.Options})
		}); err != nil {
			return err
		}
		if err := d.list(`,"licenses":[],"categories":[`, "]", func() error { return addAll(d, d.categories) }); err != nil {
			return err
		}
		if err := d.list(`,"images":[`, "]", func() error {
			return d.pictures(func(id int, p *pictureRow) error {
				return d.add(imageRow{id, p.Width, p.Height, p.Name + ".jpg", p.Camera, d.scene.Weather})
			})
		}); err != nil {
			return err
		}
		if err := d.list(`,"annotations":[`, "]}\n", annotations); err != nil {
			return err
		}
		return d.w.Flush()
	})
}

// list writes a list's elements between two texts.
func (d *document) list(before, behind string, elements func() error) error {
	d.comma = false
	if _, err := d.w.WriteString(before); err != nil {
		return err
	}
	if err := elements(); err != nil {
		return err
	}
	_, err := d.w.WriteString(behind)
	return err
}

// add writes an element, on a line of its own.
func (d *document) add(element any) error {
	data, err := json.Marshal(element)
	if err != nil {
		return err
	}
	if d.comma {
		data = slices.Insert(data, 0, ',', '\n')
	}
	d.comma = true
	_, err = d.w.Write(data)
	return err
}

func addAll[T any](d *document, elements []T) error {
	for i := range elements {
		if err := d.add(elements[i]); err != nil {
			return err
		}
	}
	return nil
}

// numbered is an annotation with its ids.
type numbered struct {
	ID    int `json:"id"`
	Image int `json:"image_id"`
	*annotation
}

// instances writes the annotations of detection. Their ids count from 1: COCO's evaluation takes 0 for no match.
func (d *document) instances() error {
	next := 1
	return d.pictures(func(id int, p *pictureRow) error {
		for i := range p.Annotations {
			if err := d.add(numbered{next, id, &p.Annotations[i]}); err != nil {
				return err
			}
			next++
		}
		return nil
	})
}

// segments are the annotations of a panoptic picture.
type segments struct {
	Image    int       `json:"image_id"`
	FileName string    `json:"file_name"`
	Segments []segment `json:"segments_info"`
}

func (d *document) panoptic() error {
	return d.pictures(func(id int, p *pictureRow) error {
		return d.add(segments{id, p.Name + ".png", append([]segment{}, p.Segments...)})
	})
}
