package nuscenes

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

func TestDecodeRadar(t *testing.T) {
	w := newWorld()
	returns, err := decodeRadar(w.files[w.fileOf("data-RADAR_FRONT-0-0")])
	require.NoError(t, err)
	require.NotEmpty(t, returns)
	r := returns[0]
	assert.Equal(t, []int8{3, 0, 1}, []int8{r.ambiguity, r.invalid, r.pdh0})
	assert.Greater(t, r.at[0], 1.0)
	assert.Zero(t, r.at[2])
}

func FuzzDecodeLidar(f *testing.F) {
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, file []byte) {
		points, err := decodeLidar(file)
		if err != nil {
			require.ErrorIs(t, err, errFormat)
			return
		}
		require.Len(t, points, len(file)/20)
	})
}

func FuzzDecodeRadar(f *testing.F) {
	f.Add(radarFile(make([]byte, 2*43)))
	f.Add([]byte("# a\nVERSION 0.7\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		returns, err := decodeRadar(file)
		switch {
		case err == nil:
			require.Greater(t, len(file), 43*len(returns))
		case returns == nil:
			require.ErrorIs(t, err, errFormat)
		default:
			require.ErrorIs(t, err, errEnd)
		}
	})
}

func FuzzDecodePanoptic(f *testing.F) {
	f.Add(npz([]byte{1, 2, 3, 4}), 2)
	f.Add([]byte("PK"), 0)
	f.Fuzz(func(t *testing.T, file []byte, points int) {
		if points < 0 || points > 1<<16 {
			return
		}
		labels, err := decodePanoptic(file, points)
		if err != nil {
			require.ErrorIs(t, err, errFormat)
			return
		}
		require.Len(t, labels, points)
	})
}

// little is a set of few rows, whose files are missing.
var little = map[string]string{
	"category":          `[{"token": "car", "name": "vehicle.car", "description": "", "index": 17}]`,
	"attribute":         `[{"token": "moving", "name": "vehicle.moving", "description": ""}]`,
	"visibility":        `[{"token": "4", "level": "v80-100", "description": ""}]`,
	"sensor":            `[{"token": "c", "channel": "CAM_FRONT", "modality": "camera"}, {"token": "l", "channel": "LIDAR_TOP", "modality": "lidar"}]`,
	"calibrated_sensor": `[{"token": "c", "sensor_token": "c", "translation": [1, 0, 1], "rotation": [0.5, -0.5, 0.5, -0.5], "camera_intrinsic": [[80, 0, 80], [0, 80, 45], [0, 0, 1]]}]`,
	"ego_pose":          `[{"token": "e", "timestamp": 1, "translation": [1, 0, 1], "rotation": [1, 0, 0, 0]}]`,
	"log":               `[{"token": "l", "logfile": "", "vehicle": "", "date_captured": "2024-01-01", "location": ""}]`,
	"map":               `[{"token": "m", "log_tokens": ["l"], "category": "", "filename": "maps/a.png"}]`,
	"scene":             `[{"token": "s", "name": "a", "description": "", "log_token": "l", "nbr_samples": 1, "first_sample_token": "a", "last_sample_token": "a"}]`,
	"sample":            `[{"token": "a", "timestamp": 1, "scene_token": "s", "prev": "", "next": ""}]`,
	"sample_data":       `[{"token": "d", "sample_token": "a", "ego_pose_token": "e", "calibrated_sensor_token": "c", "filename": "a.jpg", "fileformat": "jpg", "width": 160, "height": 90, "timestamp": 1, "is_key_frame": true, "prev": "", "next": ""}]`,
	"instance":          `[{"token": "i", "category_token": "car", "nbr_annotations": 1, "first_annotation_token": "b", "last_annotation_token": "b"}]`,
	"sample_annotation": `[{"token": "b", "sample_token": "a", "instance_token": "i", "attribute_tokens": ["moving"], "visibility_token": "4", "translation": [9, 0, 1], "size": [2, 4, 1], "rotation": [1, 0, 0, 0], "num_lidar_pts": 1, "num_radar_pts": 0, "prev": "", "next": ""}]`,
	"image_annotations": `[{"token": "v", "sample_annotation_token": "b", "sample_data_token": "d", "bbox_corners": [1, 2, 3, 4], "bbox_visible": [1, 2, 3, 4]}]`,
	"lidarseg":          `[{"token": "d", "sample_data_token": "d", "filename": "a.bin"}]`,
	"panoptic":          `[{"token": "d", "sample_data_token": "d", "filename": "a.npz"}]`,
}

// FuzzTables replaces one table of a little set: whatever is in it, the check ends with findings.
func FuzzTables(f *testing.F) {
	for table, text := range little {
		f.Add(table, text)
		f.Add(table, strings.ReplaceAll(text, "1", "NaN"))
		f.Add(table, `[{"token": "a", "prev": "a", "next": "a"}, {}]`)
	}
	f.Fuzz(func(t *testing.T, table, text string) {
		if little[table] == "" {
			return
		}
		root := fstest.MapFS{}
		for name, rows := range little {
			if name == table {
				rows = text
			}
			root["v/"+name+".json"] = &fstest.MapFile{Data: []byte(rows)}
		}
		results, err := check.Run(t.Context(), root, []check.Format{Format}, nil)
		require.NoError(t, err)
		require.NotZero(t, results[0].Total(check.Error), "files are missing")
		if set := results[0].Set; set != nil {
			for range set.Objects() {
			}
			for i := range set.Frames() {
				set.Views(i)
			}
		}
	})
}
