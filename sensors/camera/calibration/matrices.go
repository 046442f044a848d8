package calibration

import (
	"strings"
)

// Names that files of ROS and OpenCV have for the same things; # is the number of one of two cameras.
var (
	namesK = []string{"camera_matrix", "cameraMatrix", "Camera_Matrix", "K", "intrinsic_matrix", "M#", "cameraMatrix#", "camera_matrix_#", "K#"}
	namesD = []string{"distortion_coefficients", "distCoeffs", "Distortion_Coefficients", "dist_coeffs", "D", "D#", "distCoeffs#", "distortion_coefficients_#"}
	namesR = []string{"rectification_matrix", "R", "R#"}
	namesP = []string{"projection_matrix", "P", "P#"}
)

// numbered returns the names of one of two cameras, or those without a number for "".
func numbered(names []string, number string) (list []string) {
	for _, name := range names {
		if strings.Contains(name, "#") == (number != "") {
			list = append(list, strings.ReplaceAll(name, "#", number))
		}
	}
	return list
}

// readMatrices reads ROS's camera_info and OpenCV's FileStorage.
func readMatrices(root *node, choice string) (*Camera, error) {
	number := ""
	if k, _ := root.get(numbered(namesK, "")...); k == nil {
		cameras := map[string]*node{}
		for _, n := range []string{"1", "2"} {
			if k, _ := root.get(numbered(namesK, n)...); k != nil {
				cameras[n] = k
			}
		}
		if len(cameras) == 0 {
			return nil, root.errorf("it has no camera matrix: it is neither ROS's camera_info, OpenCV's FileStorage with camera_matrix and distortion_coefficients, Kalibr's camchain, nor NVIDIA's f-theta record")
		}
		if _, err := choose(root, cameras, choice); err != nil {
			return nil, err
		}
		for n := range cameras {
			if n == choice || len(cameras) == 1 {
				number = n
			}
		}
	} else if name := root.fields["camera_name"].textOr(""); choice != "" && choice != name {
		return nil, root.errorf("it has no camera %q, but one named %q", choice, name)
	}
	c := &Camera{Lens: Pinhole, Info: &Info{}}
	if err := c.matrix(root, number); err != nil {
		return nil, err
	}
	if err := c.pictureSize(root); err != nil {
		return nil, err
	}
	if err := c.distortion(root, number); err != nil {
		return nil, err
	}
	return c, c.rectified(root, number)
}

func (n *node) textOr(none string) string {
	if n == nil {
		return none
	}
	return n.text()
}

// matrix reads K.
func (c *Camera) matrix(root *node, number string) error {
	n, name := root.get(numbered(namesK, number)...)
	k, err := n.exactly(name, 9)
	if err != nil {
		return err
	}
	if k[3] != 0 || k[6] != 0 || k[7] != 0 || k[8] != 1 {
		return n.errorf("%s is %v, need fx, skew, cx; 0, fy, cy; 0, 0, 1", name, k)
	}
	c.Info.K, c.Skew = [9]float64(k), k[1]
	return c.focal(n, []float64{k[0], k[4], k[2], k[5]})
}

// pictureSize reads the size, where the file has one.
func (c *Camera) pictureSize(root *node) error {
	w, _ := root.get("image_width", "image_Width", "width", "imageWidth")
	h, _ := root.get("image_height", "image_Height", "height", "imageHeight")
	if n, name := root.get("image_size", "imageSize", "size"); n != nil && (w == nil || h == nil) {
		list, err := n.exactly(name, 2)
		if err != nil {
			return err
		}
		return c.size(n, list)
	}
	if w == nil || h == nil {
		return nil
	}
	var list []float64
	for _, n := range []*node{w, h} {
		f, err := n.number()
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	return c.size(w, list)
}

// distortion reads D and works out whose it is.
func (c *Camera) distortion(root *node, number string) error {
	n, name := root.get(numbered(namesD, number)...)
	model, at := root.fields["distortion_model"].textOr(""), root
	if n != nil {
		var err error
		if c.D, err = n.numbers(); err != nil {
			return err
		}
		at = n
	}
	if len(c.D) == 14 {
		return at.errorf("%s has 14 numbers, OpenCV's tilted model: calibrate with 4, 5, 8 or 12", name)
	}
	if xi, _ := root.get("xi"); xi != nil && model == "" {
		list, err := xi.exactly("xi", 1)
		if err != nil {
			return err
		}
		c.Xi, model = list[0], Mei
	}
	if flag, _ := root.get("fisheye_model"); flag != nil && model == "" && flag.text() != "0" {
		model = "equidistant"
	}
	counts := map[string][]int{
		"": {0, 4, 5, 8, 12}, "none": {0}, "plumb_bob": {0, 4, 5, 8, 12}, "rational_polynomial": {4, 5, 8, 12}, "thin_prism": {12},
		"equidistant": {4}, "fisheye": {4}, "kannala_brandt": {4}, Mei: {4},
	}
	fits, known := counts[model]
	if !known {
		return root.fields["distortion_model"].errorf("distortion_model is %q, need plumb_bob, rational_polynomial, equidistant or fisheye", model)
	}
	for _, n := range fits {
		if n == len(c.D) {
			c.Info.Model, c.Info.D = c.modelOf(model), c.D
			return nil
		}
	}
	return at.errorf("%s distortion has %d numbers, need one of %v", model, len(c.D), fits)
}

// modelOf sets the lens by the model's name and the number of D, and returns CameraInfo's name for it.
func (c *Camera) modelOf(model string) string {
	switch model {
	case "equidistant", "fisheye", "kannala_brandt":
		c.Lens = Equidistant
		return "equidistant"
	case Mei:
		c.Lens = Mei
		return ""
	}
	switch len(c.D) {
	case 4, 5:
		c.Lens = PlumbBob
	case 8:
		c.Lens = Rational
	case 12:
		c.Lens = ThinPrism
	}
	if c.Lens == Rational || c.Lens == ThinPrism || model == "rational_polynomial" {
		return "rational_polynomial"
	}
	return "plumb_bob"
}

// rectified reads R and P.
func (c *Camera) rectified(root *node, number string) error {
	if n, name := root.get(numbered(namesR, number)...); n != nil {
		list, err := n.exactly(name, 9)
		if err != nil {
			return err
		}
		c.Info.R = (*[9]float64)(list)
	}
	if n, name := root.get(numbered(namesP, number)...); n != nil {
		list, err := n.exactly(name, 12)
		if err != nil {
			return err
		}
		c.Info.P = (*[12]float64)(list)
	}
	return nil
}
