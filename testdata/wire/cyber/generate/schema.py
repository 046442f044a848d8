"""Apollo's messages by field number, for python3-protobuf: no .proto file is read."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {"double": F.TYPE_DOUBLE, "float": F.TYPE_FLOAT, "int32": F.TYPE_INT32, "uint32": F.TYPE_UINT32,
           "uint64": F.TYPE_UINT64, "bool": F.TYPE_BOOL, "string": F.TYPE_STRING, "bytes": F.TYPE_BYTES}

# message: {number: "type name"}; "*" repeats, "!" is required. Enums are int32, which
# are the same on the wire.
MESSAGES = {
    "apollo.common.StatusPb": {1: "int32 error_code", 2: "string msg"},
    "apollo.common.Header": {
        1: "double timestamp_sec", 2: "string module_name", 3: "uint32 sequence_num", 4: "uint64 lidar_timestamp",
        5: "uint64 camera_timestamp", 6: "uint64 radar_timestamp", 7: "uint32 version", 8: "apollo.common.StatusPb status",
        9: "string frame_id"},
    "apollo.common.PointENU": {1: "double x", 2: "double y", 3: "double z"},
    "apollo.common.Point3D": {1: "double x", 2: "double y", 3: "double z"},
    "apollo.common.Quaternion": {1: "double qx", 2: "double qy", 3: "double qz", 4: "double qw"},
    "apollo.common.VehicleSignal": {1: "int32 turn_signal", 2: "bool high_beam", 3: "bool low_beam", 4: "bool horn", 5: "bool emergency_light"},
    "apollo.common.BoundingBox2D": {1: "float x", 2: "float y", 3: "float width", 4: "float height"},
    "apollo.common.Vector3": {1: "double x", 2: "double y", 3: "double z"},
    "apollo.common.Twist": {1: "apollo.common.Vector3 linear", 2: "apollo.common.Vector3 angular"},
    "apollo.common.Detection2D": {
        1: "apollo.common.Header header", 2: "uint32 id", 3: "string label", 4: "double score",
        5: "apollo.common.BoundingBox2D bbox", 6: "apollo.common.Twist velocity"},
    "apollo.common.Detection2DArray": {1: "apollo.common.Header header", 2: "*apollo.common.Detection2D detections"},
    "apollo.cyber.proto.Clock": {1: "!uint64 clock"},
    "apollo.drivers.PointXYZIT": {1: "float x", 2: "float y", 3: "float z", 4: "uint32 intensity", 5: "uint64 timestamp"},
    "apollo.drivers.PointCloud": {
        1: "apollo.common.Header header", 2: "string frame_id", 3: "bool is_dense", 4: "*apollo.drivers.PointXYZIT point",
        5: "double measurement_time", 6: "uint32 width", 7: "uint32 height"},
    "apollo.drivers.Image": {
        1: "apollo.common.Header header", 2: "string frame_id", 3: "double measurement_time", 4: "uint32 height", 5: "uint32 width",
        6: "string encoding", 7: "uint32 step", 8: "bytes data"},
    "apollo.drivers.CompressedImage": {
        1: "apollo.common.Header header", 2: "string frame_id", 3: "string format", 4: "bytes data", 5: "double measurement_time",
        6: "uint32 frame_type"},
    "apollo.drivers.ContiRadarObs": {
        1: "apollo.common.Header header", 2: "bool clusterortrack", 3: "int32 obstacle_id", 4: "!double longitude_dist",
        5: "!double lateral_dist", 6: "!double longitude_vel", 7: "!double lateral_vel", 8: "double rcs", 9: "int32 dynprop",
        14: "double probexist", 15: "int32 meas_state", 18: "double oritation_angle", 22: "double length", 23: "double width",
        24: "int32 obstacle_class"},
    "apollo.drivers.ObjectListStatus_60A": {1: "int32 nof_objects", 2: "int32 meas_counter", 3: "int32 interface_version"},
    "apollo.drivers.ContiRadar": {
        1: "apollo.common.Header header", 2: "*apollo.drivers.ContiRadarObs contiobs",
        5: "apollo.drivers.ObjectListStatus_60A object_list_status"},
    "apollo.drivers.gnss.GnssBestPose": {
        1: "apollo.common.Header header", 2: "double measurement_time", 3: "int32 sol_status", 4: "int32 sol_type", 5: "double latitude",
        6: "double longitude", 7: "double height_msl", 8: "float undulation", 9: "int32 datum_id", 10: "float latitude_std_dev",
        11: "float longitude_std_dev", 12: "float height_std_dev", 13: "bytes base_station_id", 14: "float differential_age",
        15: "float solution_age", 16: "uint32 num_sats_tracked", 17: "uint32 num_sats_in_solution", 18: "uint32 num_sats_l1",
        19: "uint32 num_sats_multi", 20: "uint32 reserved", 21: "uint32 extended_solution_status",
        22: "uint32 galileo_beidou_used_mask", 23: "uint32 gps_glonass_used_mask"},
    "apollo.drivers.gnss.Imu": {
        1: "apollo.common.Header header", 2: "double measurement_time", 3: "float measurement_span",
        4: "apollo.common.Point3D linear_acceleration", 5: "apollo.common.Point3D angular_velocity"},
    "apollo.drivers.gnss.InsStat": {1: "apollo.common.Header header", 2: "uint32 ins_status", 3: "uint32 pos_type"},
    "apollo.localization.Pose": {
        1: "apollo.common.PointENU position", 2: "apollo.common.Quaternion orientation", 3: "apollo.common.Point3D linear_velocity",
        4: "apollo.common.Point3D linear_acceleration", 5: "apollo.common.Point3D angular_velocity", 6: "double heading",
        7: "apollo.common.Point3D linear_acceleration_vrf", 8: "apollo.common.Point3D angular_velocity_vrf",
        9: "apollo.common.Point3D euler_angles"},
    "apollo.localization.Gps": {1: "apollo.common.Header header", 2: "apollo.localization.Pose localization"},
    "apollo.localization.CorrectedImu": {1: "apollo.common.Header header", 3: "apollo.localization.Pose imu"},
    "apollo.localization.Uncertainty": {1: "apollo.common.Point3D position_std_dev"},
    "apollo.localization.LocalizationEstimate": {
        1: "apollo.common.Header header", 2: "apollo.localization.Pose pose", 3: "apollo.localization.Uncertainty uncertainty",
        4: "double measurement_time"},
    "apollo.canbus.ChassisGPS": {
        1: "double latitude", 2: "double longitude", 3: "bool gps_valid", 4: "int32 year", 5: "int32 month", 6: "int32 day",
        7: "int32 hours", 8: "int32 minutes", 9: "int32 seconds", 10: "double compass_direction", 11: "double pdop",
        12: "bool is_gps_fault", 13: "bool is_inferred", 14: "double altitude", 15: "double heading", 16: "double hdop",
        17: "double vdop", 18: "int32 quality", 19: "int32 num_satellites", 20: "double gps_speed"},
    "apollo.canbus.Chassis": {
        3: "bool engine_started", 4: "float engine_rpm", 5: "float speed_mps", 6: "float odometer_m", 7: "int32 fuel_range_m",
        8: "float throttle_percentage", 9: "float brake_percentage", 11: "float steering_percentage", 13: "bool parking_brake",
        14: "bool high_beam_signal", 15: "bool low_beam_signal", 16: "bool left_turn_signal", 17: "bool right_turn_signal",
        19: "bool wiper", 21: "int32 driving_mode", 22: "int32 error_code", 23: "int32 gear_location", 24: "double steering_timestamp",
        25: "apollo.common.Header header", 27: "apollo.common.VehicleSignal signal", 28: "apollo.canbus.ChassisGPS chassis_gps"},
    "apollo.control.ControlCommand": {
        1: "apollo.common.Header header", 3: "double throttle", 4: "double brake", 6: "double steering_rate", 7: "double steering_target",
        8: "bool parking_brake", 20: "int32 gear_location", 23: "apollo.common.VehicleSignal signal"},
    "apollo.perception.SensorMeasurement": {
        1: "string sensor_id", 2: "int32 id", 3: "apollo.common.Point3D position", 4: "double theta", 5: "double length",
        6: "double width", 7: "double height", 8: "apollo.common.Point3D velocity", 9: "int32 type", 10: "int32 sub_type",
        11: "double timestamp"},
    "apollo.perception.PerceptionObstacle": {
        1: "int32 id", 2: "apollo.common.Point3D position", 3: "double theta", 4: "apollo.common.Point3D velocity", 5: "double length",
        6: "double width", 7: "double height", 8: "*apollo.common.Point3D polygon_point", 9: "double tracking_time", 10: "int32 type",
        11: "double timestamp", 13: "double confidence", 16: "apollo.common.Point3D acceleration",
        17: "apollo.common.Point3D anchor_point", 19: "int32 sub_type", 20: "*apollo.perception.SensorMeasurement measurements"},
    "apollo.perception.PerceptionObstacles": {
        1: "*apollo.perception.PerceptionObstacle perception_obstacle", 2: "apollo.common.Header header", 3: "int32 error_code"},
    "apollo.perception.TrafficLight": {1: "int32 color", 2: "string id", 3: "double confidence", 4: "double tracking_time", 5: "bool blink"},
    "apollo.perception.TrafficLightDetection": {
        1: "*apollo.perception.TrafficLight traffic_light", 2: "apollo.common.Header header", 4: "bool contain_lights"},
    "apollo.perception.LaneLineCubicCurve": {
        1: "float longitude_min", 2: "float longitude_max", 3: "float a", 4: "float b", 5: "float c", 6: "float d"},
    "apollo.perception.CameraLaneLine": {1: "int32 type", 2: "int32 pos_type", 3: "apollo.perception.LaneLineCubicCurve curve_camera_coord"},
    "apollo.perception.PerceptionLanes": {
        1: "apollo.common.Header header", 2: "string source_topic", 3: "int32 error_code",
        5: "*apollo.perception.CameraLaneLine camera_laneline"},
}


def _field(message, number, text):
    typ, name = text.split()
    field = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
    if typ[0] in "*!":
        field.label = F.LABEL_REPEATED if typ[0] == "*" else F.LABEL_REQUIRED
        typ = typ[1:]
    if typ in SCALARS:
        field.type = SCALARS[typ]
    else:
        field.type, field.type_name = F.TYPE_MESSAGE, "." + typ


def load():
    """Returns the class of each message, by its full name."""
    pool, files = descriptor_pool.DescriptorPool(), {}
    for full, fields in MESSAGES.items():
        package, name = full.rsplit(".", 1)
        file = files.setdefault(package, descriptor_pb2.FileDescriptorProto(name=package + ".proto", package=package, syntax="proto2"))
        message = file.message_type.add(name=name)
        for number, text in fields.items():
            _field(message, number, text)
            typ = text.split()[0].lstrip("*!")
            used = typ.rsplit(".", 1)[0] + ".proto"
            if typ not in SCALARS and used != file.name and used not in file.dependency:
                file.dependency.append(used)
    for file in files.values():
        pool.Add(file)
    return {full: message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(full)) for full in MESSAGES}
