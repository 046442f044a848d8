"""Subscribes to topics, and prints each message as a line of JSON.

usage: subscriber.py [--count] TOPIC...

With --count it prints a message's number and size instead of its values.
"""
import json
import sys
import threading

import rospy

import plain

counting = sys.argv[1] == "--count"
topics = sys.argv[2:] if counting else sys.argv[1:]
lock = threading.Lock()
classes = {}


def receive(msg, topic):
    header = msg._connection_header
    if counting:
        line = {"topic": topic, "bytes": len(msg._buff), "seq": int.from_bytes(msg._buff[:4], "little")}
    else:
        with lock:  # genpy makes one class at a time: what it generates goes through its globals
            if topic not in classes:
                classes[topic] = plain.decoder(header["type"], header["md5sum"], header["message_definition"])
            cls, debian = classes[topic]
        line = {"topic": topic, "type": header["type"], "latching": header["latching"], "caller": header["callerid"],
                "debian": debian, "values": plain.plain(cls().deserialize(msg._buff))}
    with lock:
        print(json.dumps(line), flush=True)


rospy.init_node("subscriber", anonymous=True, disable_signals=True)
for topic in topics:
    rospy.Subscriber(topic, rospy.AnyMsg, receive, topic)
print("ready", flush=True)
threading.Event().wait()
