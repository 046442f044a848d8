// Package chart draws the pictures of benchmarks: lines over time, bars and
// histograms, as PNG, as SVG, or as a page that also has the figures.
//
// Charts stand one over the other, the left and right ends of their axes in one
// line. Those with the same Scale have the same ranges. Colours are those of Okabe
// and Ito (Color Universal Design, 2008), which people with any colour vision can
// tell apart; a name has one colour on the whole page, as far as they last.
//
// Values that aren't finite, or greater than 1e300, are left out, and so are those
// of zero or less on a logarithmic axis: a line has a gap there, a bar is missing.
// A linear Y axis begins at zero where no value is negative. Bars and classes that
// are narrower than a column of the picture are merged into columns, each as high
// as the highest in it, so that a spike among thousands of frames is seen.
//
// The same page gives the same bytes. Nothing here is safe for use of one Page by
// a goroutine while another changes it; different goroutines may write different
// files.
package chart
