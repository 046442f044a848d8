"""Writes connection headers as rospy does: /usr/bin/python3 generate/headers.py, in the
folder above (Debian's python3-rosgraph)."""
from rosgraph.network import encode_ros_handshake_header
from sensor_msgs.msg import Imu

headers = {
    "subscriber": {
        "callerid": "/rviz", "topic": "/imu", "type": Imu._type, "md5sum": Imu._md5sum,
        "message_definition": "Header header\n\xe4=\n", "tcp_nodelay": "1",
    },
    "any": {"callerid": "/rostopic_1_2", "topic": "/imu", "type": "*", "md5sum": "*", "tcp_nodelay": "0", "message_definition": ""},
    "service": {"callerid": "/rosservice", "service": "/lights", "md5sum": "09fb03525b03e7ea1fd3992bafd87e16", "persistent": "1"},
    "probe": {"callerid": "/rosservice", "service": "/lights", "md5sum": "*", "probe": "1"},
}
for name, fields in headers.items():
    with open(name + ".header", "wb") as f:
        f.write(encode_ros_handshake_header(fields))
