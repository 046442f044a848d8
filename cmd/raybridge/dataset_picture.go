package main

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // the pictures of data sets
	_ "image/png"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge/internal/fault"
)

func newDatasetPicture() *cobra.Command {
	return &cobra.Command{
		Use: "picture FILE", Short: "Write a picture's pixels to the standard output",
		Long: "Write a picture's pixels to the standard output, for programs that can't decode JPEG or PNG.\n\n" +
			"They are written as PPM: the lines P6, WIDTH HEIGHT and 255, then a byte each of red, green and blue for each pixel, row by row.",
		Example: "  raybridge dataset picture out/set/samples/CAM_FRONT/picture.jpg > picture.ppm",
		Args:    oneArg("a picture of a data set"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isTerminal(cmd.OutOrStdout()) {
				return usage(errors.New("the standard output is a terminal, and the pixels are for a program: give it one, or a file, such as > picture.ppm"))
			}
			return writePPM(cmd.OutOrStdout(), args[0])
		},
	}
}

// mostPixels is as many as a picture may have. A file of a few bytes can claim more than there is memory for.
const mostPixels = 1 << 28

// writePPM writes a picture file as PPM.
func writePPM(out io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return usage(fault.File(err))
	}
	defer f.Close()
	size, _, err := image.DecodeConfig(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", fault.Printable(file), err)
	}
	if size.Width > mostPixels/max(1, size.Height) {
		return fmt.Errorf("read %s: %dx%d pixels are more than %d", fault.Printable(file), size.Width, size.Height, mostPixels)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fault.File(err)
	}
	decoded, _, err := image.Decode(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", fault.Printable(file), err)
	}
	bounds := decoded.Bounds()
	pixels := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(pixels, pixels.Rect, decoded, bounds.Min, draw.Src)
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "P6\n%d %d\n255\n", bounds.Dx(), bounds.Dy())
	for ; len(pixels.Pix) >= 4; pixels.Pix = pixels.Pix[4:] {
		_, _ = w.Write(pixels.Pix[:3]) // Flush has the first error
	}
	return w.Flush()
}
