package dataset

import "time"

// Options are those that all formats have. A format embeds them in its own, and gives those that have another default there.
type Options struct {
	Map         string        `option:"map" value:"FILE" doc:"YAML that says which sensor is which channel, and which actor is of which category" want:"a file"`
	Keyframes   float64       `option:"keyframes" value:"HZ" default:"2" doc:"key frames in a second" min:"0.001" max:"1000" want:"a rate above 0, 1000 at most"`
	Scene       time.Duration `option:"scene" value:"TIME" default:"20s" doc:"the longest that a scene lasts" want:"a time above 0, such as 20s"`
	MinPixels   int           `option:"min_pixels" value:"N" default:"0" doc:"objects that no picture shows with as many pixels are left out" want:"a whole number from 0 on"`
	MinVisible  float64       `option:"min_visible" value:"SHARE" default:"0" doc:"objects of which less is visible, over all cameras together, are left out" max:"1" want:"a share from 0 to 1"`
	MinHeight   float64       `option:"min_height" value:"N" default:"0" doc:"objects that are less tall in every picture, in pixels, are left out" want:"a number from 0 on"`
	MaxDistance float64       `option:"max_distance" value:"METRES" default:"150" doc:"objects whose centre is farther from the ego's are left out" want:"a number of metres from 0 on"`
	Append      bool          `option:"append" value:"true|false" default:"false" doc:"write on in a set that is there, with another scene"`
	Quality     int           `option:"quality" value:"N" default:"90" doc:"of JPEG, 1 to 100" min:"1" max:"100" want:"a whole number from 1 to 100"`
}

// DefaultOptions are the options at the defaults that their tags name.
func DefaultOptions() Options {
	return Options{Keyframes: 2, Scene: 20 * time.Second, MaxDistance: 150, Quality: 90}
}
