package mcap

import (
	"fmt"
	"io"

	"github.com/foxglove/mcap/go/mcap"
)

// summary is what the summary section of a file lists.
type summary struct {
	schemas     []*mcap.Schema
	channels    []*mcap.Channel
	statistics  *mcap.Statistics
	chunks      []*mcap.ChunkIndex
	attachments []*mcap.AttachmentIndex
	metadata    []*mcap.MetadataIndex
}

// writeTail finishes a file whose complete records end at base: a Data End
// record without checksum, the summary section and the footer (MCAP
// specification, "Summary Section"). The library's own Close can't do it, for
// it can't be taken back to an earlier chunk.
func writeTail(dst io.Writer, base uint64, s summary) error {
	data, err := mcap.NewWriter(dst, &mcap.WriterOptions{SkipMagic: true})
	if err != nil {
		return err
	}
	if err := data.WriteDataEnd(&mcap.DataEnd{}); err != nil {
		return fmt.Errorf("write data end: %w", err)
	}
	start := base + data.Offset()
	w, err := mcap.NewWriter(dst, &mcap.WriterOptions{SkipMagic: true, IncludeCRC: true})
	if err != nil {
		return err
	}
	groups, err := writeGroups(w, start, s)
	if err != nil {
		return err
	}
	footer := mcap.Footer{SummaryStart: start, SummaryOffsetStart: start + w.Offset()}
	for _, g := range groups {
		if err := w.WriteSummaryOffset(g); err != nil {
			return fmt.Errorf("write summary offset: %w", err)
		}
	}
	if err := w.WriteFooter(&footer); err != nil {
		return fmt.Errorf("write footer: %w", err)
	}
	_, err = dst.Write(mcap.Magic)
	return err
}

// writeGroups writes the records of the summary, grouped by opcode, and returns
// where in the file each group lies.
func writeGroups(w *mcap.Writer, start uint64, s summary) ([]*mcap.SummaryOffset, error) {
	var groups []*mcap.SummaryOffset
	group := func(op mcap.OpCode, n int, write func(i int) error) error {
		from := w.Offset()
		for i := range n {
			if err := write(i); err != nil {
				return fmt.Errorf("write %v of the summary: %w", op, err)
			}
		}
		if n > 0 {
			groups = append(groups, &mcap.SummaryOffset{
				GroupOpcode: op, GroupStart: start + from, GroupLength: w.Offset() - from,
			})
		}
		return nil
	}
	for _, g := range []struct {
		op    mcap.OpCode
		n     int
		write func(i int) error
	}{
		{mcap.OpSchema, len(s.schemas), func(i int) error { return w.WriteSchema(s.schemas[i]) }},
		{mcap.OpChannel, len(s.channels), func(i int) error { return w.WriteChannel(s.channels[i]) }},
		{mcap.OpStatistics, 1, func(int) error { return w.WriteStatistics(s.statistics) }},
		{mcap.OpChunkIndex, len(s.chunks), func(i int) error { return w.WriteChunkIndex(s.chunks[i]) }},
		{mcap.OpAttachmentIndex, len(s.attachments), func(i int) error { return w.WriteAttachmentIndex(s.attachments[i]) }},
		{mcap.OpMetadataIndex, len(s.metadata), func(i int) error { return w.WriteMetadataIndex(s.metadata[i]) }},
	} {
		if err := group(g.op, g.n, g.write); err != nil {
			return nil, err
		}
	}
	return groups, nil
}
