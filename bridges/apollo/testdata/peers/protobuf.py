"""Reads Apollo messages that a rosbridge server recorded by python3-protobuf.

Each line of FRAMES is JSON {"name": a name in messages.py of FOLDER, "frame": the frame}. The msg
must be what json_format makes of the message's own definition, no field more, and have the
fields that messages.py says. Prints "same NAME" or "differs NAME: ...".

    /usr/bin/python3 protobuf.py FRAMES FOLDER
"""

import json
import sys

from google.protobuf import json_format

sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
import messages  # noqa: E402
import schema  # noqa: E402

classes = schema.load()
with open(sys.argv[1]) as lines:
    for line in lines:
        record = json.loads(line)
        kind, fields = messages.EXPECTED[record["name"]]
        message = json_format.ParseDict(json.loads(record["frame"])["msg"], classes[kind](), ignore_unknown_fields=False)
        problems = messages.differences(message, fields)
        print("differs %s: %s" % (record["name"], problems) if problems else "same " + record["name"])
