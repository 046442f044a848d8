"""What bridgetest.ApolloSamples must be as Apollo's messages.

Each value was worked out here, with rotation matrices where Go has quaternions. A list
is a repeated field, a dict a message.
"""

import math

FLOAT = 2  # FieldDescriptorProto.TYPE_FLOAT

NS = 1700000000123456789  # 2023-11-14 22:13:20.123456789 UTC
SEC = 1700000000 + 123456789 / 1e9
GPS = 1700000000 - 315964800 + 18 + 123456789 / 1e9


def header(frame, **more):
    return dict(timestamp_sec=SEC, sequence_num=2, frame_id=frame, **more)


def point(x, y, z):
    return dict(x=x, y=y, z=z)


def mul(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def turn(m, v):
    return tuple(sum(m[i][k] * v[k] for k in range(3)) for i in range(3))


def transposed(m):
    return [list(row) for row in zip(*m)]


def rpy(roll, pitch, yaw):
    """Degrees, applied z, y, x: forward, left, up in the world."""
    r, p, y = (math.radians(a) for a in (roll, pitch, yaw))
    rx = [[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]]
    ry = [[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]]
    rz = [[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]]
    return mul(rz, mul(ry, rx))


def rfu(m):
    """Right is minus left, forward is forward: the columns are those axes in the world."""
    return [[-row[1], row[0], row[2]] for row in m]


def quaternion(m):
    w = math.sqrt(1 + m[0][0] + m[1][1] + m[2][2]) / 2
    return dict(qx=(m[2][1] - m[1][2]) / (4 * w), qy=(m[0][2] - m[2][0]) / (4 * w), qz=(m[1][0] - m[0][1]) / (4 * w), qw=w)


def attitude(m):
    """orientation, heading and euler_angles of forward, left, up in the world."""
    r = rfu(m)
    euler = point(math.asin(r[2][1]), math.atan2(-r[2][0], r[2][2]), math.atan2(-r[0][1], r[1][1]))
    return dict(orientation=quaternion(r), heading=math.atan2(m[1][0], m[0][0]), euler_angles=euler)


TILTED = rpy(2, -3, 40)
FLAT = rpy(0, 0, -50)  # its quaternion in right, forward, up has w > 0 too


def gps():
    rates = (0.01, -0.02, 0.3)
    return dict(header=header("gps"), localization=dict(
        position=point(592720.5, 4134479.25, 12.5), linear_velocity=point(3.0, 4.0, -0.5),
        angular_velocity=point(*turn(TILTED, rates)), angular_velocity_vrf=point(0.02, 0.01, 0.3), **attitude(TILTED)))


def corrected_imu():
    gravity = turn(transposed(TILTED), (0, 0, 9.80665))
    force = (1.5, -0.25, 9.5)
    x, y, z = (f - g for f, g in zip(force, gravity))
    return dict(header=header("imu"), imu=dict(
        linear_acceleration=point(-y, x, z), linear_acceleration_vrf=point(-y, x, z),
        angular_velocity=point(0.02, 0.01, 0.3), angular_velocity_vrf=point(0.02, 0.01, 0.3), **attitude(TILTED)))


def localization():
    return dict(header=header("odom", module_name="localization"), measurement_time=SEC,
                uncertainty=dict(position_std_dev=point(0.5, 0.25, 0)),
                pose=dict(position=point(100, 200, 3), linear_velocity=point(*turn(TILTED, (5, 0.5, -0.25))),
                          angular_velocity=point(*turn(TILTED, (0.01, -0.02, 0.3))),
                          angular_velocity_vrf=point(0.02, 0.01, 0.3), **attitude(TILTED)))


def obstacle(number, at, yaw, size, velocity, acceleration, kind, sub, score):
    """A box in the frame of a sensor that is at (10, 20, 2) and turned by -50 degrees."""
    centre = [a + b for a, b in zip((10, 20, 2), turn(FLAT, at))]
    base = (centre[0], centre[1], centre[2] - size[2] / 2)
    theta = math.radians(yaw - 50)
    corners = []
    for x, y in ((size[0], size[1]), (-size[0], size[1]), (-size[0], -size[1]), (size[0], -size[1])):
        c, s = math.cos(theta), math.sin(theta)
        corners.append(point(base[0] + (x * c - y * s) / 2, base[1] + (x * s + y * c) / 2, base[2]))
    said = dict(id=number, position=point(*base), theta=theta, velocity=point(*turn(FLAT, velocity)),
                length=size[0], width=size[1], height=size[2], type=kind, sub_type=sub, timestamp=SEC)
    return dict(said, polygon_point=corners, confidence=score, acceleration=point(*turn(FLAT, acceleration)),
                anchor_point=point(*base), measurements=[dict(said, sensor_id="velodyne128")])


def cloud(points, width, height, dense, frame):
    fields = [dict(x=x, y=y, z=z, intensity=i, timestamp=NS + t) for x, y, z, i, t in points]
    return dict(header=header(frame, lidar_timestamp=NS), frame_id=frame, is_dense=dense, point=fields, measurement_time=SEC,
                width=width, height=height)


def scan():
    """Rays at -0.5, 0, 0.5 rad of 4 m, none, 2 m; 10 ms apart."""
    at = lambda r, a: (r * math.cos(a), r * math.sin(a), 0.0)
    return cloud([at(4, -0.5) + (25, 0), at(2, 0.5) + (75, 20_000_000)], 2, 1, True, "laser")


NAN = float("nan")

# By name: the message's type and its fields.
EXPECTED = {
    "clock": ("apollo.cyber.proto.Clock", dict(clock=NS)),
    "image": ("apollo.drivers.Image", dict(
        header=header("camera", camera_timestamp=NS), frame_id="camera", measurement_time=SEC, height=2, width=3, encoding="rgb8", step=9,
        data=bytes(range(18)))),
    "compressed_image": ("apollo.drivers.CompressedImage", dict(
        header=header("camera", camera_timestamp=NS), frame_id="camera", format="jpeg", data=b"\xff\xd8\x00\xff\xd9", measurement_time=SEC)),
    "point_cloud": ("apollo.drivers.PointCloud", cloud(
        [(1.5, -2.25, 0.125, 0, 0), (100.5, 3.0, -1.75, 127, 1), (0.1, 0.2, 0.3, 128, 99_999_999), (-7.0, 8.0, 9.0, 255, 4_000_000_000)],
        4, 1, True, "lidar")),
    "point_cloud_organized": ("apollo.drivers.PointCloud", cloud(
        [(3, 0, 0, 51, 10), (4, 0, 0, 102, 30), (1, 0, 0, 255, 0), (NAN, NAN, NAN, 0, 20)], 2, 2, False, "lidar")),
    "laser_scan": ("apollo.drivers.PointCloud", scan()),
    "gnss_fix": ("apollo.drivers.gnss.GnssBestPose", dict(
        header=header("gnss"), measurement_time=GPS, sol_status=0, sol_type=50, latitude=37.417, longitude=-122.016, height_msl=12.5,
        undulation=0, datum_id=61, latitude_std_dev=0.5, longitude_std_dev=0.25, height_std_dev=0.01, base_station_id=b"0",
        differential_age=2, solution_age=0, num_sats_tracked=15, num_sats_in_solution=15, num_sats_l1=15, num_sats_multi=12, reserved=0,
        extended_solution_status=33, galileo_beidou_used_mask=0, gps_glonass_used_mask=51)),
    "gps_odometry": ("apollo.localization.Gps", gps()),
    "ins_status": ("apollo.drivers.gnss.InsStat", dict(header=header("ins"), ins_status=3, pos_type=56)),
    "imu": ("apollo.drivers.gnss.Imu", dict(
        header=header("imu"), measurement_time=GPS, measurement_span=0, linear_acceleration=point(1.5, -0.25, 9.5),
        angular_velocity=point(0.01, -0.02, 0.3))),
    "corrected_imu": ("apollo.localization.CorrectedImu", corrected_imu()),
    "odometry": ("apollo.localization.LocalizationEstimate", localization()),
    "can_bus": ("apollo.canbus.Chassis", dict(
        header=header("base_link", module_name="chassis"), engine_started=True, engine_rpm=1500, speed_mps=12.5, odometer_m=0,
        fuel_range_m=0, throttle_percentage=25, brake_percentage=50, steering_percentage=-75, parking_brake=True, high_beam_signal=True,
        low_beam_signal=False, left_turn_signal=False, right_turn_signal=True, wiper=True, driving_mode=1, error_code=0, gear_location=4,
        steering_timestamp=SEC,
        signal=dict(turn_signal=2, high_beam=True, low_beam=False, emergency_light=True),
        chassis_gps=dict(
            latitude=37.417, longitude=-122.016, gps_valid=True, year=2023, month=11, day=14, hours=22, minutes=13, seconds=20,
            compass_direction=140, pdop=0.1, is_gps_fault=False, is_inferred=False, altitude=12.5, heading=140, hdop=0.1, vdop=0.1,
            quality=2, num_satellites=15, gps_speed=13))),
    "radar_objects": ("apollo.drivers.ContiRadar", dict(
        header=header("radar", module_name="conti_radar", radar_timestamp=NS),
        contiobs=[
            dict(clusterortrack=False, obstacle_id=7, longitude_dist=30.5, lateral_dist=-2.5, longitude_vel=-4, lateral_vel=0.5, rcs=11,
                 dynprop=0, probexist=1, meas_state=1, length=4.5, width=1.75, obstacle_class=1),
            dict(clusterortrack=False, obstacle_id=300, longitude_dist=80, lateral_dist=6, longitude_vel=-10, lateral_vel=0, rcs=11,
                 dynprop=1, probexist=1, meas_state=2, length=12, width=2.5, obstacle_class=2)],
        object_list_status=dict(nof_objects=2, meas_counter=2, interface_version=0))),
    "detections_2d": ("apollo.common.Detection2DArray", dict(
        header=header("camera", camera_timestamp=NS), detections=[dict(
            header=header("camera", camera_timestamp=NS), id=9, label="Sedan", score=0.75, bbox=dict(x=320.5, y=240, width=100, height=50.25),
            velocity=dict(linear=point(1, 2, 3), angular=point(0.1, 0.2, 0.3)))])),
    "detections_3d": ("apollo.perception.PerceptionObstacles", dict(
        header=header("lidar", module_name="perception_obstacle", lidar_timestamp=NS), error_code=0, perception_obstacle=[
            obstacle(5, (15, -3, -1), 20, (4.5, 1.75, 1.5), (6, 1, 0), (0.5, 0, 0), 5, 3, 1),
            obstacle(6, (5, 4, -1.25), -90, (0.5, 0.75, 1.75), (0, -1, 0), (0, 0, 0), 3, 10, 0.5),
            obstacle(2000, (30, 0, 0.5), 180, (11, 2.5, 3.5), (-8, 0, 0), (0, 0, 0), 5, 6, 1)])),
    "signals": ("apollo.perception.TrafficLightDetection", dict(
        header=header("base_link", module_name="traffic_light", camera_timestamp=NS), contain_lights=True, traffic_light=[
            dict(color=1, id="1234", confidence=1), dict(color=2, id="2", confidence=0.5), dict(color=3, id="3", confidence=1),
            dict(color=4, id="4", confidence=1), dict(color=0, id="5", confidence=1)])),
    "lane_lines": ("apollo.perception.PerceptionLanes", dict(
        header=header("camera", module_name="lane_lines", camera_timestamp=NS), error_code=0, camera_laneline=[
            dict(type=1, pos_type=-1, curve_camera_coord=dict(longitude_min=2, longitude_max=40, a=0.125, b=0.25, c=0.5, d=1.75)),
            dict(type=2, pos_type=1, curve_camera_coord=dict(longitude_min=2.5, longitude_max=30, a=0, b=0, c=0, d=-1.75))])),
}

# What Apollo sends.
COMMAND = dict(header=dict(timestamp_sec=12.5, module_name="control", sequence_num=7), throttle=25, brake=12.5, steering_rate=100,
               steering_target=40, parking_brake=True, gear_location=2, signal=dict(turn_signal=1))


def fill(message, fields):
    """Sets a message's fields."""
    for name, value in fields.items():
        if isinstance(value, dict):
            target = getattr(message, name)
            target.SetInParent()
            fill(target, value)
        elif isinstance(value, list):
            for element in value:
                fill(getattr(message, name).add(), element)
        else:
            setattr(message, name, value)
    return message


def differences(message, fields, path=""):
    """Lists where a message isn't what the fields say, other fields that are set included."""
    found = ["%s.%s is set" % (path, d.name) for d, _ in message.ListFields() if d.name not in fields]
    for name, want in fields.items():
        here, got = "%s.%s" % (path, name), getattr(message, name)
        if isinstance(want, dict):
            found += differences(got, want, here) if message.HasField(name) else [here + " is not set"]
        elif isinstance(want, list):
            if len(got) != len(want):
                found.append("%s has %d elements, not %d" % (here, len(got), len(want)))
            for i, (element, part) in enumerate(zip(got, want)):
                found += differences(element, part, "%s[%d]" % (here, i))
        elif not message.HasField(name):
            found.append(here + " is not set")
        elif not same(got, want, message.DESCRIPTOR.fields_by_name[name].type == FLOAT):
            found.append("%s is %r, not %r" % (here, got, want))
    return found


def same(got, want, single):
    """Compares numbers to the precision of the field: single is a float32's."""
    if isinstance(got, float):
        if math.isnan(want):
            return math.isnan(got)
        return math.isclose(got, want, rel_tol=6e-8 if single else 1e-12, abs_tol=1e-12)
    return got == want
