package camera

import "github.com/raybridge/raybridge/sensors"

// Values of the attribute lens.
const (
	lensPinhole    = "pinhole"
	lensPlumbBob   = "plumb_bob"
	lensSVL        = "svl"
	lensSVLFisheye = "svl_fisheye"
)

const distortionDoc = "for plumb_bob k1, k2, p1, p2 and, if need be, k3, as OpenCV and ROS order them; for svl and svl_fisheye a1 to a4 of DistortionParameters; none for pinhole"

// ignored says why the attribute changes nothing.
func (d described) ignored(why string) described {
	d.Inert = why
	return d
}

func number(name string, value float64, doc string) described {
	return attribute(name, sensors.Float, value, doc)
}

// lensAttributes are those of every camera's lens.
func lensAttributes() []described {
	const circle = "the circle's formula is inside CARLA's engine, and its strength is 0 by default: the picture is a pinhole's, unless lens says otherwise"
	return []described{
		attribute("lens", sensors.String, lensPinhole,
			"pinhole; plumb_bob as OpenCV and ROS; svl and svl_fisheye as SVL Simulator's distorted cameras").
			of(lensPinhole, lensPlumbBob, lensSVL, lensSVLFisheye),
		attribute("distortion", sensors.Floats, []float64{}, distortionDoc),
		number("xi", 0, "how far behind the sphere's centre svl_fisheye looks from").in("", 0, 10),
		number("lens_circle_falloff", 5, "softness of CARLA's lens circle").in("", 0, 10).ignored(circle),
		number("lens_circle_multiplier", 0, "strength of CARLA's lens circle").in("", 0, 10).ignored(circle),
		number("lens_k", -1, "CARLA's radial distortion").ignored(circle),
		number("lens_kcube", 0, "CARLA's cubic distortion").ignored(circle),
		number("lens_x_size", 0.08, "width of CARLA's lens circle").in("", 0, 1).ignored(circle),
		number("lens_y_size", 0.08, "height of CARLA's lens circle").in("", 0, 1).ignored(circle),
	}
}

// colorAttributes are those of the cameras that see light, with CARLA's names and
// defaults where CARLA has them.
func colorAttributes() []described {
	all := []described{
		attribute("supersampling", sensors.Int, int64(1), "points seen across a pixel, and down it: 2 smooths edges at four times the work").in("", 1, 4),
		attribute("tone_curve", sensors.String, "filmic",
			"how bright light is shown: filmic rolls off softly, none clips at white").of("filmic", "none"),
		attribute("enable_postprocess_effects", sensors.Bool, true, "without them the picture is linear: no tone curve, no balance, no gamma"),
	}
	all = append(all, exposureAttributes()...)
	all = append(all, gradeAttributes()...)
	return append(all, opticsAttributes()...)
}

func exposureAttributes() []described {
	const adapts = "the exposure doesn't adapt: it is the scene's own, so that a picture depends on its instant alone"
	return []described{
		attribute("exposure_mode", sensors.String, "histogram",
			"histogram takes the scene's exposure for what a meter would find; manual multiplies it by what iso, fstop, shutter_speed and calibration_constant give, which is 1 at their defaults").
			of("histogram", "manual"),
		number("exposure_compensation", 0, "brightness over the scene's own exposure, in stops").in("EV", -16, 16),
		number("iso", usualISO, "sensitivity, in exposure_mode manual").in("", 1, 1e6).usually(25, 25600),
		number("fstop", usualStop, "f-number of the aperture, in exposure_mode manual").in("", 0.1, 100).usually(0.7, 32),
		number("shutter_speed", usualShutter, "one over the time of exposure, in exposure_mode manual").in("1/s", 0.01, 1e6).usually(1, 10000),
		number("calibration_constant", usualCalibration, "of the light meter, in exposure_mode manual").in("", 1, 100),
		number("exposure_min_bright", 10, "least brightness that CARLA's eye adapts to").ignored(adapts),
		number("exposure_max_bright", 12, "greatest brightness that CARLA's eye adapts to").ignored(adapts),
		number("exposure_speed_up", 3, "speed of adaptation to light").ignored(adapts),
		number("exposure_speed_down", 1, "speed of adaptation to darkness").ignored(adapts),
	}
}

func gradeAttributes() []described {
	return []described{
		number("gamma", usualGamma, "of the display: 2.2 is sRGB, more is brighter").in("", 0.1, 10).usually(1, 3),
		number("temp", usualTemperature, "temperature of the light that is shown as white").in("K", 1500, 15000),
		number("tint", 0, "of the white balance: above 0 towards magenta, below towards green").in("", -1, 1),
		number("slope", usualFilm.slope,
			"steepness of Unreal Engine's film curve, which tone_curve filmic becomes if this or the next four differ from their defaults").in("", 0, 1),
		number("toe", usualFilm.toe, "darkness of the film curve's shadows").in("", 0, 1),
		number("shoulder", usualFilm.shoulder, "softness of the film curve's highlights").in("", 0, 1),
		number("black_clip", usualFilm.blackClip, "where the film curve's black is cut off").in("", 0, 1),
		number("white_clip", usualFilm.whiteClip, "where the film curve's white is cut off").in("", 0, 1),
	}
}

func opticsAttributes() []described {
	const (
		sharp  = "everything is in focus at any aperture"
		still  = "a picture shows one instant, so nothing in it moves"
		clean  = "glass here scatters no light"
		fringe = "a pixel has one ray for all its colours, so they don't part"
	)
	return []described{
		number("bloom_intensity", 0.675, "glow around bright lights").ignored(clean),
		number("lens_flare_intensity", 0.1, "reflections in the lens").ignored(clean),
		number("min_fstop", 1.2, "widest aperture").ignored(sharp),
		number("focal_distance", 1000, "distance at which the picture is sharp").in("cm", 0, 1e9).ignored(sharp),
		attribute("blade_count", sensors.Int, int64(5), "blades of the aperture, which shape what is out of focus").ignored(sharp),
		number("blur_amount", 1, "strength of blur by depth").ignored(sharp),
		number("blur_radius", 0, "size of blur by depth").ignored(sharp),
		number("motion_blur_intensity", 0.45, "strength of motion blur").ignored(still),
		number("motion_blur_max_distortion", 0.35, "longest motion blur").ignored(still),
		number("motion_blur_min_object_screen_size", 0.1, "smallest thing with motion blur").ignored(still),
		number("chromatic_aberration_intensity", 0, "how far colours part towards the edges").ignored(fringe),
		number("chromatic_aberration_offset", 0, "where colours begin to part").ignored(fringe),
	}
}
