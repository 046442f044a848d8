// Package pb holds our own .proto files of those of Apollo's messages that raybridge
// speaks, with Apollo's packages, names and field numbers, and below it the Go code that
// is made of them. Fields that raybridge neither sends nor reads are left out; receivers
// with the full messages see them as unset.
//
// The folders are those of Apollo up to 7; package apollo renames them for 8.
package pb

//go:generate go run github.com/raybridge/raybridge/internal/protogen . cyber/proto/clock.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/canbus/proto/chassis.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/common/proto/detection2d.proto modules/common/proto/detection2darray.proto modules/common/proto/error_code.proto modules/common/proto/geometry.proto modules/common/proto/header.proto modules/common/proto/vehicle_signal.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/control/proto/control_cmd.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/drivers/gnss/proto/gnss_best_pose.proto modules/drivers/gnss/proto/imu.proto modules/drivers/gnss/proto/ins.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/drivers/proto/conti_radar.proto modules/drivers/proto/pointcloud.proto modules/drivers/proto/sensor_image.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/localization/proto/gps.proto modules/localization/proto/imu.proto modules/localization/proto/localization.proto modules/localization/proto/pose.proto
//go:generate go run github.com/raybridge/raybridge/internal/protogen . modules/perception/proto/perception_lane.proto modules/perception/proto/perception_obstacle.proto modules/perception/proto/traffic_light_detection.proto
