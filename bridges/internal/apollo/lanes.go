package apollo

import (
	"github.com/raybridge/raybridge/bridges/internal/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
)

// perceptionLanes counts offsets to the left, as the sample does; Apollo's a is the factor
// of the cube and its d the offset beside the vehicle, as its own camera component reads
// them.
func perceptionLanes(dst *apollopb.PerceptionLanes, src *sample.LaneLines, _ *Map) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.ModuleName, "lane_lines")
	set(&h.CameraTimestamp, uint64(src.StampNs))
	set(&dst.ErrorCode, apollopb.ErrorCode_OK)
	resize(&dst.CameraLaneline, len(src.Lines))
	for i := range src.Lines {
		line, d := &src.Lines[i], dst.CameraLaneline[i]
		set(&d.Type, apollopb.LaneLineType(line.Type))
		set(&d.PosType, apollopb.LaneLinePositionType(line.Place))
		curve := part(&d.CurveCameraCoord)
		set(&curve.LongitudeMin, float32(line.MinX))
		set(&curve.LongitudeMax, float32(line.MaxX))
		set(&curve.A, float32(line.C[3]))
		set(&curve.B, float32(line.C[2]))
		set(&curve.C, float32(line.C[1]))
		set(&curve.D, float32(line.C[0]))
	}
	return nil
}
