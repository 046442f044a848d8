"""Reads a text log with Python's gzip and json alone, as docs/logging.md shows it.

usage: read.py NAME.txt.gz

Prints a line of JSON for each message, [kind, topic, message], and "read N" at the end.
NaN and infinities without quotes, which json would take, are an error, and so is a key
that stands twice in an object.
"""

import gzip
import json
import sys


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def once(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key stands twice: {keys}")
    return dict(pairs)


count = 0
with gzip.open(sys.argv[1], "rt", encoding="utf-8", newline="\n") as log:
    for head in log:
        kind, topic = head.split()
        message = json.loads(next(log), parse_constant=refuse, object_pairs_hook=once)
        print(json.dumps([kind, topic, message]))
        count += 1
print("read", count)
