#!/usr/bin/env python3
"""sbom.py FILE [PACKAGES]: completes a CycloneDX file of a program, so that equal builds have equal files.

Its time becomes SOURCE_DATE_EPOCH, and Debian's packages that the program comes with join the Go modules.
PACKAGES has a line "name version architecture" for each.
"""
import datetime
import fileinput
import json
import os
import sys

def main():
    path, *packages = sys.argv[1:]
    with open(path, encoding="utf-8") as f:
        bom = json.load(f)
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    bom["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    with fileinput.input(packages or os.devnull, encoding="utf-8") as f:
        for name, version, architecture in map(str.split, f):
            purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}"
            bom["components"].append({"bom-ref": purl, "type": "library", "name": name, "version": version, "purl": purl})
    with open(path, "w", encoding="utf-8") as f:
        json.dump(bom, f, indent=2)
        f.write("\n")


main()
