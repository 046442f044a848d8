// Code generated from package schema; DO NOT EDIT.

package wire

import (
	"fmt"

	"github.com/raybridge/raybridge/sensors/sample"
)

// Kinds of messages. A number is never changed and never used for another.
const (
	// KindForeign is the kind of all types from outside raybridge: their layout is their
	// sensor's own.
	KindForeign         Kind = 0
	KindClock           Kind = 1
	KindImage           Kind = 2
	KindCompressedImage Kind = 3
	KindCameraInfo      Kind = 4
	KindPointCloud      Kind = 5
	KindLaserScan       Kind = 6
	KindRadar           Kind = 7
	KindRange           Kind = 8
	KindDvsEvents       Kind = 9
	KindImu             Kind = 10
	KindGnssFix         Kind = 11
	KindOdometry        Kind = 12
	KindTransforms      Kind = 13
	KindDetections2D    Kind = 14
	KindDetections3D    Kind = 15
	KindRadarObjects    Kind = 16
	KindSignals         Kind = 17
	KindCollision       Kind = 18
	KindObstacle        Kind = 19
	KindLaneInvasion    Kind = 20
	KindSpeed           Kind = 21
	KindCanBus          Kind = 22
	KindVehicleOdometry Kind = 23
	KindGpsOdometry     Kind = 24
	KindInsStatus       Kind = 25
	KindSnapshot        Kind = 26
)

var kindNames = map[Kind]string{
	KindForeign:         "foreign",
	KindClock:           "Clock",
	KindImage:           "Image",
	KindCompressedImage: "CompressedImage",
	KindCameraInfo:      "CameraInfo",
	KindPointCloud:      "PointCloud",
	KindLaserScan:       "LaserScan",
	KindRadar:           "Radar",
	KindRange:           "Range",
	KindDvsEvents:       "DvsEvents",
	KindImu:             "Imu",
	KindGnssFix:         "GnssFix",
	KindOdometry:        "Odometry",
	KindTransforms:      "Transforms",
	KindDetections2D:    "Detections2D",
	KindDetections3D:    "Detections3D",
	KindRadarObjects:    "RadarObjects",
	KindSignals:         "Signals",
	KindCollision:       "Collision",
	KindObstacle:        "Obstacle",
	KindLaneInvasion:    "LaneInvasion",
	KindSpeed:           "Speed",
	KindCanBus:          "CanBus",
	KindVehicleOdometry: "VehicleOdometry",
	KindGpsOdometry:     "GpsOdometry",
	KindInsStatus:       "InsStatus",
	KindSnapshot:        "Snapshot",
}

var kindVersions = map[Kind]uint16{
	KindClock:           1,
	KindImage:           1,
	KindCompressedImage: 1,
	KindCameraInfo:      1,
	KindPointCloud:      1,
	KindLaserScan:       1,
	KindRadar:           1,
	KindRange:           1,
	KindDvsEvents:       1,
	KindImu:             1,
	KindGnssFix:         1,
	KindOdometry:        1,
	KindTransforms:      1,
	KindDetections2D:    1,
	KindDetections3D:    1,
	KindRadarObjects:    1,
	KindSignals:         1,
	KindCollision:       1,
	KindObstacle:        1,
	KindLaneInvasion:    1,
	KindSpeed:           1,
	KindCanBus:          1,
	KindVehicleOdometry: 1,
	KindGpsOdometry:     1,
	KindInsStatus:       1,
	KindSnapshot:        1,
}

// describe returns what is particular to a sample: false for other types.
func describe(msg any) (d description, ok bool) {
	switch m := msg.(type) {
	case *sample.Clock:
		return description{KindClock, 1, nil, m.StampNs, 0}, true
	case *sample.Image:
		return description{KindImage, 1, &m.Header, m.Header.StampNs, sizeImage(m)}, true
	case *sample.CompressedImage:
		return description{KindCompressedImage, 1, &m.Header, m.Header.StampNs, sizeCompressedImage(m)}, true
	case *sample.CameraInfo:
		return description{KindCameraInfo, 1, &m.Header, m.Header.StampNs, sizeCameraInfo(m)}, true
	case *sample.PointCloud:
		return description{KindPointCloud, 1, &m.Header, m.Header.StampNs, sizePointCloud(m)}, true
	case *sample.LaserScan:
		return description{KindLaserScan, 1, &m.Header, m.Header.StampNs, sizeLaserScan(m)}, true
	case *sample.Radar:
		return description{KindRadar, 1, &m.Header, m.Header.StampNs, sizeRadar(m)}, true
	case *sample.Range:
		return description{KindRange, 1, &m.Header, m.Header.StampNs, sizeRange(m)}, true
	case *sample.DvsEvents:
		return description{KindDvsEvents, 1, &m.Header, m.Header.StampNs, sizeDvsEvents(m)}, true
	case *sample.Imu:
		return description{KindImu, 1, &m.Header, m.Header.StampNs, sizeImu(m)}, true
	case *sample.GnssFix:
		return description{KindGnssFix, 1, &m.Header, m.Header.StampNs, sizeGnssFix(m)}, true
	case *sample.Odometry:
		return description{KindOdometry, 1, &m.Header, m.Header.StampNs, sizeOdometry(m)}, true
	case *sample.Transforms:
		return description{KindTransforms, 1, nil, m.StampNs, sizeTransforms(m)}, true
	case *sample.Detections2D:
		return description{KindDetections2D, 1, &m.Header, m.Header.StampNs, sizeDetections2D(m)}, true
	case *sample.Detections3D:
		return description{KindDetections3D, 1, &m.Header, m.Header.StampNs, sizeDetections3D(m)}, true
	case *sample.RadarObjects:
		return description{KindRadarObjects, 1, &m.Header, m.Header.StampNs, sizeRadarObjects(m)}, true
	case *sample.Signals:
		return description{KindSignals, 1, &m.Header, m.Header.StampNs, sizeSignals(m)}, true
	case *sample.Collision:
		return description{KindCollision, 1, &m.Header, m.Header.StampNs, sizeCollision(m)}, true
	case *sample.Obstacle:
		return description{KindObstacle, 1, &m.Header, m.Header.StampNs, sizeObstacle(m)}, true
	case *sample.LaneInvasion:
		return description{KindLaneInvasion, 1, &m.Header, m.Header.StampNs, sizeLaneInvasion(m)}, true
	case *sample.Speed:
		return description{KindSpeed, 1, &m.Header, m.Header.StampNs, sizeSpeed(m)}, true
	case *sample.CanBus:
		return description{KindCanBus, 1, &m.Header, m.Header.StampNs, sizeCanBus(m)}, true
	case *sample.VehicleOdometry:
		return description{KindVehicleOdometry, 1, &m.Header, m.Header.StampNs, sizeVehicleOdometry(m)}, true
	case *sample.GpsOdometry:
		return description{KindGpsOdometry, 1, &m.Header, m.Header.StampNs, sizeGpsOdometry(m)}, true
	case *sample.InsStatus:
		return description{KindInsStatus, 1, &m.Header, m.Header.StampNs, sizeInsStatus(m)}, true
	case *sample.Snapshot:
		return description{KindSnapshot, 1, &m.Header, m.Header.StampNs, sizeSnapshot(m)}, true
	}
	return description{}, false
}

// put writes the body of a sample into b, which has its size.
func put(b []byte, msg any) error {
	switch m := msg.(type) {
	case *sample.Image:
		return putImage(b, m)
	case *sample.CompressedImage:
		return putCompressedImage(b, m)
	case *sample.CameraInfo:
		return putCameraInfo(b, m)
	case *sample.PointCloud:
		return putPointCloud(b, m)
	case *sample.LaserScan:
		return putLaserScan(b, m)
	case *sample.Radar:
		return putRadar(b, m)
	case *sample.Range:
		return putRange(b, m)
	case *sample.DvsEvents:
		return putDvsEvents(b, m)
	case *sample.Imu:
		return putImu(b, m)
	case *sample.GnssFix:
		return putGnssFix(b, m)
	case *sample.Odometry:
		return putOdometry(b, m)
	case *sample.Transforms:
		return putTransforms(b, m)
	case *sample.Detections2D:
		return putDetections2D(b, m)
	case *sample.Detections3D:
		return putDetections3D(b, m)
	case *sample.RadarObjects:
		return putRadarObjects(b, m)
	case *sample.Signals:
		return putSignals(b, m)
	case *sample.Collision:
		return putCollision(b, m)
	case *sample.Obstacle:
		return putObstacle(b, m)
	case *sample.LaneInvasion:
		return putLaneInvasion(b, m)
	case *sample.Speed:
		return putSpeed(b, m)
	case *sample.CanBus:
		return putCanBus(b, m)
	case *sample.VehicleOdometry:
		return putVehicleOdometry(b, m)
	case *sample.GpsOdometry:
		return putGpsOdometry(b, m)
	case *sample.InsStatus:
		return putInsStatus(b, m)
	case *sample.Snapshot:
		return putSnapshot(b, m)
	}
	return nil
}

// Decode returns a message as the sample that it was made from, independent of the
// received bytes. A message of a foreign kind is ErrKind.
func Decode(m Message) (any, error) {
	switch m.Kind() {
	case KindClock:
		return decode(m, AsClock, ClockView.CopyTo)
	case KindImage:
		return decode(m, AsImage, ImageView.CopyTo)
	case KindCompressedImage:
		return decode(m, AsCompressedImage, CompressedImageView.CopyTo)
	case KindCameraInfo:
		return decode(m, AsCameraInfo, CameraInfoView.CopyTo)
	case KindPointCloud:
		return decode(m, AsPointCloud, PointCloudView.CopyTo)
	case KindLaserScan:
		return decode(m, AsLaserScan, LaserScanView.CopyTo)
	case KindRadar:
		return decode(m, AsRadar, RadarView.CopyTo)
	case KindRange:
		return decode(m, AsRange, RangeView.CopyTo)
	case KindDvsEvents:
		return decode(m, AsDvsEvents, DvsEventsView.CopyTo)
	case KindImu:
		return decode(m, AsImu, ImuView.CopyTo)
	case KindGnssFix:
		return decode(m, AsGnssFix, GnssFixView.CopyTo)
	case KindOdometry:
		return decode(m, AsOdometry, OdometryView.CopyTo)
	case KindTransforms:
		return decode(m, AsTransforms, TransformsView.CopyTo)
	case KindDetections2D:
		return decode(m, AsDetections2D, Detections2DView.CopyTo)
	case KindDetections3D:
		return decode(m, AsDetections3D, Detections3DView.CopyTo)
	case KindRadarObjects:
		return decode(m, AsRadarObjects, RadarObjectsView.CopyTo)
	case KindSignals:
		return decode(m, AsSignals, SignalsView.CopyTo)
	case KindCollision:
		return decode(m, AsCollision, CollisionView.CopyTo)
	case KindObstacle:
		return decode(m, AsObstacle, ObstacleView.CopyTo)
	case KindLaneInvasion:
		return decode(m, AsLaneInvasion, LaneInvasionView.CopyTo)
	case KindSpeed:
		return decode(m, AsSpeed, SpeedView.CopyTo)
	case KindCanBus:
		return decode(m, AsCanBus, CanBusView.CopyTo)
	case KindVehicleOdometry:
		return decode(m, AsVehicleOdometry, VehicleOdometryView.CopyTo)
	case KindGpsOdometry:
		return decode(m, AsGpsOdometry, GpsOdometryView.CopyTo)
	case KindInsStatus:
		return decode(m, AsInsStatus, InsStatusView.CopyTo)
	case KindSnapshot:
		return decode(m, AsSnapshot, SnapshotView.CopyTo)
	}
	return nil, fmt.Errorf("%w: %v", ErrKind, m.Kind())
}
