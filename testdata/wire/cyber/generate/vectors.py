"""Writes the byte vectors of testdata/wire/cyber, with python3-protobuf.

    /usr/bin/python3 testdata/wire/cyber/generate/vectors.py testdata/wire/cyber
"""

import os
import sys

import messages
import schema


def main(folder):
    classes = schema.load()
    every = dict(messages.EXPECTED, control_command=("apollo.control.ControlCommand", messages.COMMAND))
    for name, (typ, fields) in every.items():
        message = messages.fill(classes[typ](), fields)
        with open(os.path.join(folder, name + ".bin"), "wb") as file:
            file.write(message.SerializeToString(deterministic=True))


main(sys.argv[1])
