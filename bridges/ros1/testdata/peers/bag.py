"""Prints the messages of a bag as lines of JSON: bag.py FILE."""
import json
import sys

import rosbag

import plain

for topic, (typ, data, md5, _, cls), _ in rosbag.Bag(sys.argv[1]).read_messages(raw=True):
    assert cls._md5sum == md5, (typ, md5, cls._md5sum)
    print(json.dumps({"topic": topic, "type": typ, "values": plain.plain(cls().deserialize(data))}))
