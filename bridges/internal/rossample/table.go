package rossample

// shared are the publications that all bridges to ROS have.
func shared() []Publication {
	return []Publication{
		publication(Clock), publication(Image), publication(CompressedImage), publication(CameraInfo),
		publication(PointCloud2), publication(Imu), publication(NavSatFix), publication(Odometry),
		publication(TFMessage), publication(LaserScan), publication(RadarCloud),
		publication(DetectedRadarObjectArray), publication(DvsCloud), publication(Speed),
		publication(GpsOdometry), publication(CanBusData), publication(VehicleOdometry),
		publication(SignalArray), publication(CarlaCollisionEvent), publication(CarlaLaneInvasionEvent),
	}
}

// Standard returns the messages that ROS's own tools know best: boxes are vision_msgs',
// distances sensor_msgs/Range. What ROS has no type for (InsStatus, Obstacle, Snapshot)
// isn't among them.
func Standard() []Publication {
	return append(shared(), publication(Range), publication(Detection2DArray), publication(Detection3DArray))
}

// SVL returns the messages that SVL Simulator's users expect: boxes and distances are
// lgsvl_msgs'.
func SVL() []Publication {
	return append(shared(), publication(Ultrasonic), publication(LgsvlDetection2DArray), publication(LgsvlDetection3DArray))
}

// commands are the subscriptions that all bridges to ROS have: what vehicles obey, and
// the time.
func commands() []Subscription {
	return []Subscription{
		subscription(FromVehicleControlData), subscription(FromVehicleStateData),
		subscription(FromAckermannDriveStamped), subscription(FromTwist), subscription(FromClock),
	}
}

// StandardSubscriptions returns the commands, the clock and vision_msgs' boxes.
func StandardSubscriptions() []Subscription {
	return append(commands(), subscription(FromDetection2DArray), subscription(FromDetection3DArray))
}

// SVLSubscriptions returns the commands, the clock and lgsvl_msgs' boxes.
func SVLSubscriptions() []Subscription {
	return append(commands(), subscription(FromLgsvlDetection2DArray), subscription(FromLgsvlDetection3DArray))
}
