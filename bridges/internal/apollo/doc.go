// Package apollo turns samples into the messages of Baidu's Apollo, and Apollo's
// messages into samples, for all bridges that speak them: cyber as protobuf,
// rosapollo as JSON.
//
// # Usage
//
// A bridge registers the tables and says how one message goes out and how a channel is
// listened to:
//
//	for _, pub := range apollo.Publications() {
//		err = errors.Join(err, pub.Register(plugin, apollo.FullName, open))
//	}
//	for _, sub := range apollo.Subscriptions() {
//		err = errors.Join(err, sub.Register(plugin, apollo.FullName, listen))
//	}
//
// [Files] gives the descriptors of a message under the paths of either generation of
// Apollo. An instance that has a method Map is asked for the place of the map frame on
// the earth ([Mapped]).
//
// # Time
//
// header.timestamp_sec is the sample's stamp in seconds, and so is measurement_time of
// clouds, pictures and localization; nanoseconds stand exactly in lidar_timestamp,
// camera_timestamp, radar_timestamp and in each point. measurement_time of GnssBestPose
// and Imu is GPS time as Apollo wants it there: seconds since 1980-01-06 with 18 leap
// seconds, so that a stamp of 0 is -315964782. A stamp below 0 is [ErrStamp].
//
// # Axes and places
//
// Sensors' data stay in REP-103 axes, which are Apollo's forward, left and up. What
// Apollo calls a pose has the axes right, forward and up: its orientation is the
// sample's times (0, 0, -√½, √½). Headings count from the east to the north, radians,
// as Apollo reads them. Positions in the world are UTM where the map's place is known,
// else the map frame's; velocities and headings are those of the map's axes, which are
// true east and north at the origin: they aren't turned by the meridian's convergence.
//
// # Messages
//
// Folder apollopb has our own .proto files of the messages that raybridge speaks, with
// Apollo's packages, names, field numbers and, up to Apollo 7, folders ([Layout]). Fields
// that raybridge neither sends nor reads are left out; receivers with the full messages
// see them as unset. The Go code of all of them is one package.
//
// # Gaps
//
// A radar object has no orientation and an obstacle no tracking time, so those fields are
// unset. A control command's steering rate is in per cent of an angle that isn't known
// here, and is left out. perception.PerceptionLanes is
// made of sample.LaneLines, which no sensor of raybridge publishes yet.
package apollo

//go:generate go run github.com/raybridge/raybridge/internal/gen protobuf apollopb apollopb
