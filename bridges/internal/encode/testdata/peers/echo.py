"""Reads lines "FORM HEX" of encoded messages, has Python's json, bson or cbor2 read and
write each, and prints the outcome as hex."""
import json
import sys

import bson
import cbor2


def through_json(data):
    # Python writes no number that JSON hasn't got, and refuses to read one.
    tree = json.loads(data, parse_constant=lambda word: sys.exit("not JSON: " + word))
    return json.dumps(tree, allow_nan=False).encode()


FORMS = {
    "json": through_json,
    "bson": lambda data: bson.BSON.encode(bson.BSON(data).decode()),
    "cbor": lambda data: cbor2.dumps(cbor2.loads(data)),
}

for line in sys.stdin:
    form, data = line.split()
    print(FORMS[form](bytes.fromhex(data)).hex(), flush=True)
