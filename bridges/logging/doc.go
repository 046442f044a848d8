// Package logging is the bridge that writes messages as text, for scripts that
// want no robotics library: SVL's logging bridge, with its names.
//
// # Connection
//
// "logging:NAME" writes NAME.txt.gz, below the run's output folder unless NAME
// is an absolute path; folders are made as needed, an older file is replaced.
//
// # Format
//
// The file is gzip (RFC 1952), in members of about a mebibyte of text, without
// a time of its own: equal messages in equal order give equal bytes (law T5).
// Each message is two lines of UTF-8 that end in LF: the type's name, a space
// and the topic; then one JSON object (RFC 8259). Its first keys are, but for a
// clock's, Name (the sensor), Frame, Time (the capture stamp in seconds, with
// nine decimals), StampNs (the same in nanoseconds, exact) and Sequence. After
// them come the keys that SVL has for the type, where the sample has the value,
// in SVL's order, and then what SVL has no key for:
//
//	sample           type                   keys
//	Clock            ClockData              Clock (seconds); StampNs
//	CompressedImage  ImageData              Width, Height, Bytes, Length; Format
//	Image            UncompressedImageData  Width, Height, Length, Encoding, IsBigEndian, Bytes; Step
//	CameraInfo       CameraInfoData         Width, Height, FocalLengthX, FocalLengthY, PrincipalPointX,
//	                                        PrincipalPointY, DistortionParameters (k1, k2, k3, 0 of plumb_bob);
//	                                        DistortionModel, D, K, R, P
//	PointCloud       PointCloudData         LaserCount, Transform, Points, PointCount;
//	                                        Organized, Columns, Rings, Returns, TimesNs
//	Imu              ImuData                Position, Orientation, Acceleration, AngularVelocity;
//	                                        OrientationCovariance, AngularVelocityCovariance, AccelerationCovariance
//	GnssFix          GpsData                Latitude, Longitude, Altitude, PositionCovariance, Orientation;
//	                                        Status, Service, PositionCovarianceType
//	Odometry         GpsOdometryData        ChildFrame, Orientation, ForwardSpeed, Velocity, AngularVelocity;
//	                                        Position, PoseCovariance, TwistCovariance
//	Transforms       TransformsData         Static, Data: Frame, ChildFrame, Time, StampNs, Position, Orientation each
//	LaserScan        LaserScanData          MinAngle, MaxAngle, AngleStep, RangeMin, RangeMax, TimeIncrement, ScanTime,
//	                                        Transform; Ranges, Intensities
//	Range            UltrasonicData         MinimumDistance; Radiation, FieldOfView, RangeMin, RangeMax
//	RadarObjects     DetectedRadarObjectData Data: Id, RelativePosition, RelativeVelocity, ColliderSize, State, NewDetection each
//	CanBus           CanBusData             Speed, Throttle, Braking, Steering, ParkingBrake, HighBeamSignal, LowBeamSignal,
//	                                        HazardLights, FogLights, LeftTurnSignal, RightTurnSignal, Wipers, InReverse, Gear,
//	                                        EngineOn, EngineRPM, Latitude, Longitude, Altitude, Orientation, Velocity
//	VehicleOdometry  VehicleOdometryData    Speed, SteeringAngleFront, SteeringAngleBack (radians, positive to the left)
//	GpsOdometry      GpsOdometryData        ChildFrame, Latitude, Longitude, Altitude, Northing, Easting, Orientation,
//	                                        ForwardSpeed, Velocity, AngularVelocity, WheelAngle
//	InsStatus        GpsInsData             Status, PositionType
//	Detections2D     Detected2DObjectData   Data: Id, Label, Score, Position, Scale, LinearVelocity, AngularVelocity;
//	                                        TypeId, Tag, Pixels, Occlusion, Truncation each; Width, Height
//	Detections3D     Detected3DObjectData   Data: Id, Label, Score, Position, Rotation, Scale, LinearVelocity,
//	                                        AngularVelocity, Acceleration; TypeId, Tag, Occlusion each
//	Signals          SignalDataArray        Data: Id, Label, Score, Position, Rotation, Scale each
//
// These have no counterpart in SVL:
//
//	Radar            RadarData              Data: Velocity, Azimuth, Altitude, Depth, Instance, Tag each
//	DvsEvents        DvsEventsData          Width, Height, FieldOfView, Events
//	Speed            SpeedData              Speed
//	Collision        CollisionData          Actor, ActorType, Other, OtherType, NormalImpulse
//	Obstacle         ObstacleData           Actor, ActorType, Other, OtherType, Distance
//	LaneInvasion     LaneInvasionData       Actor, Marks: Id, Type, Color each
//	Snapshot         SnapshotData           FrameNumber, DeltaNs, Actors: Id, TypeId, Position, Orientation, LinearVelocity,
//	                                        AngularVelocity, Acceleration, BoxCenter, BoxHalf each; of vehicles Throttle,
//	                                        Braking, Steering, Gear, InReverse; of lights Signal, SignalElapsed, Red,
//	                                        Yellow, Green (seconds)
//
// Axes and units are the sample's (REP-103), not SVL's left-handed ones. Bytes
// are base64 (RFC 4648, section 4), of the valid bytes alone; vectors are
// {x, y, z}, quaternions {x, y, z, w}, matrices flat: Transform, the sensor in
// the map, column by column as in SVL, K, R, P and covariances row by row.
// Points is a list of [x, y, z, intensity]; Rings, Returns and TimesNs are lists
// of the same length; Events one of [x, y, nanoseconds, polarity]. An ImageData whose picture can't be read has no Width and
// Height. JSON has no NaN and no infinity: they are the strings "NaN",
// "Infinity" and "-Infinity", as in protobuf's JSON.
//
// # Reading
//
// [Open] and [Reader] read a log back, message by message, also one that was cut off; what
// becomes of the JSON is the caller's matter.
//
// # Failure
//
// A member of the file is complete when a message fills it up. When a write
// fails, the file is cut back to its last complete member; what is cut off, and
// everything after it, is counted as write_failed. So is all of a file that was removed,
// renamed or replaced, at the next member or at the end.
package logging
