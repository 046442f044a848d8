package rossample

import "github.com/raybridge/raybridge/bridges/ros"

// shared are the publications that all bridges to ROS have.
func shared() []ros.Publication {
	return []ros.Publication{
		ros.Publish(Clock), ros.Publish(Image), ros.Publish(CompressedImage), ros.Publish(CameraInfo),
		ros.Publish(PointCloud2), ros.Publish(Imu), ros.Publish(NavSatFix), ros.Publish(Odometry),
		ros.Publish(TFMessage), ros.Publish(LaserScan), ros.Publish(RadarCloud),
		ros.Publish(DetectedRadarObjectArray), ros.Publish(DvsCloud), ros.Publish(Speed),
		ros.Publish(GpsOdometry), ros.Publish(CanBusData), ros.Publish(VehicleOdometry),
		ros.Publish(SignalArray), ros.Publish(CarlaCollisionEvent), ros.Publish(CarlaLaneInvasionEvent),
	}
}

// Standard returns the messages that ROS's own tools know best: boxes are vision_msgs',
// distances sensor_msgs/Range. What ROS has no type for (InsStatus, Obstacle, Snapshot)
// isn't among them.
func Standard() []ros.Publication {
	return append(shared(), ros.Publish(Range), ros.Publish(Detection2DArray), ros.Publish(Detection3DArray))
}

// SVL returns the messages that SVL Simulator's users expect: boxes and distances are
// lgsvl_msgs'.
func SVL() []ros.Publication {
	return append(shared(), ros.Publish(Ultrasonic), ros.Publish(LgsvlDetection2DArray), ros.Publish(LgsvlDetection3DArray))
}

// commands are the subscriptions that all bridges to ROS have: what vehicles obey, and
// the time.
func commands() []ros.Subscription {
	return []ros.Subscription{
		ros.Subscribe(FromVehicleControlData), ros.Subscribe(FromVehicleStateData),
		ros.Subscribe(FromAckermannDriveStamped), ros.Subscribe(FromTwist), ros.Subscribe(FromClock),
	}
}

// StandardSubscriptions returns the commands, the clock and vision_msgs' boxes.
func StandardSubscriptions() []ros.Subscription {
	return append(commands(), ros.Subscribe(FromDetection2DArray), ros.Subscribe(FromDetection3DArray))
}

// SVLSubscriptions returns the commands, the clock and lgsvl_msgs' boxes.
func SVLSubscriptions() []ros.Subscription {
	return append(commands(), ros.Subscribe(FromLgsvlDetection2DArray), ros.Subscribe(FromLgsvlDetection3DArray))
}
