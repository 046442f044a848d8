// Package jpegenc writes baseline JPEG (ITU-T T.81) of packed 8-bit pixels, straight
// from where they lie: the standard library's encoder wants them in a picture of its
// own, and takes more than twice as long.
//
// Colours are Y'CbCr as JFIF 1.02 has it, with a chroma sample for each two by two
// pixels (4:2:0). Quantisation and Huffman tables are those of T.81's annex K, scaled
// by a quality from 1 to 100 as the Independent JPEG Group's library does it, so that a
// quality means what it means elsewhere.
package jpegenc
