"""Publishes commands until it is ended: a Twist on /cmd_vel and, of a class that genpy
makes of DEFINITION (a file), a lgsvl_msgs/VehicleControlData on /control.

usage: publisher.py DEFINITION
"""
import sys

import genpy.dynamic
import rospy
from geometry_msgs.msg import Twist

control_type = "lgsvl_msgs/VehicleControlData"
Control = genpy.dynamic.generate_dynamic(control_type, open(sys.argv[1]).read())[control_type]

rospy.init_node("commander", anonymous=True, disable_signals=True)
twists = rospy.Publisher("/cmd_vel", Twist, queue_size=10)
controls = rospy.Publisher("/control", Control, queue_size=10)
twist = Twist()
twist.linear.x, twist.angular.z = 1.5, -0.25
control = Control()
control.header.frame_id = "base_link"
control.header.stamp = rospy.Time(12, 345)
control.acceleration_pct, control.braking_pct, control.target_wheel_angle = 0.5, 0.25, 0.125
print("ready", Control._md5sum, flush=True)
rate = rospy.Rate(20)
while True:
    twists.publish(twist)
    controls.publish(control)
    rate.sleep()
