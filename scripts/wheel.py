#!/usr/bin/env python3
"""wheel.py [--binary FILE] [--version VERSION] [--out DIR]: makes wheels of python/raybridge, without network.

Without a binary it makes the pure one, raybridge-VERSION-py3-none-any.whl, for a program that is
there already. With one it makes the wheel that has the program, whose tag is by what that needs.
It prints the wheel's path. Equal inputs give equal bytes.
"""
import argparse
import base64
import hashlib
import os
import re
import struct
import sys
import zipfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(HERE, "python", "raybridge")
MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}
# What every manylinux system has of what a program may be linked to (PEP 600).
ALLOWED = re.compile(r"(libc|libm|libdl|libpthread|librt|libX11|libXext|libGL)\.so\.\d+|ld-linux[-\w]*\.so\.\d+")


class Elf:
    """As much of a 64-bit little-endian ELF file as names what it is linked to."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            sys.exit("wheel.py: the binary is not a 64-bit ELF program")
        self.data = data
        self.machine = MACHINES.get(struct.unpack_from("<H", data, 18)[0])
        if self.machine is None:
            sys.exit("wheel.py: the binary is for a machine that is not known")
        offset, = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]

    def text(self, table, at):
        begin = self.sections[table][4] + at
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def libraries(self):
        for _, kind, _, _, offset, size, link, *_ in self.sections:
            if kind == 6:  # SHT_DYNAMIC
                for at in range(offset, offset + size, 16):
                    tag, value = struct.unpack_from("<QQ", self.data, at)
                    if tag == 1:  # DT_NEEDED
                        yield self.text(link, value)

    def versions(self):
        """The versions of symbols, such as GLIBC_2.34: section .gnu.version_r."""
        for _, kind, _, _, offset, _, link, *_ in self.sections:
            if kind != 0x6FFFFFFE:  # SHT_GNU_verneed
                continue
            at, more = offset, True
            while more:
                _, count, _, first, step = struct.unpack_from("<HHIII", self.data, at)
                entry = at + first
                for _ in range(count):
                    _, _, _, name, following = struct.unpack_from("<IHHII", self.data, entry)
                    yield self.text(link, name)
                    entry += following
                at, more = at + step, step != 0


def platform(binary):
    """The tag of what a program runs on."""
    elf = Elf(binary)
    strange = [name for name in elf.libraries() if not ALLOWED.fullmatch(name)]
    if strange:
        print("wheel.py: linked to " + ", ".join(strange) + ", so that the tag is this machine's alone", file=sys.stderr)
        return "linux_" + elf.machine
    need = [(2, 17)]
    for version in elf.versions():
        found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if found:
            need.append((int(found[1]), int(found[2])))
    return "manylinux_%d_%d_%s" % (*max(need), elf.machine)


def version():
    """The package's own."""
    with open(os.path.join(PACKAGE, "__init__.py"), encoding="utf-8") as f:
        return re.search(r'__version__ = "(.*)"', f.read())[1]


def checked(text):
    if not re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.dev\d+)?", text):
        sys.exit(f"wheel.py: {text} is no version of PEP 440")
    return text


def contents(binary, number):
    """The wheel's name, and its files with their modes."""
    tag = "py3-none-" + ("any" if binary is None else platform(binary))
    info = f"raybridge-{number}.dist-info/"
    files = {}
    for folder, _, names in os.walk(PACKAGE):
        for name in names:
            if name.endswith((".py", ".typed")):
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    files[os.path.relpath(path, os.path.dirname(PACKAGE)).replace(os.sep, "/")] = (f.read(), 0o644)
    if binary is not None:
        files[f"raybridge-{number}.data/scripts/raybridge"] = (binary, 0o755)
    with open(os.path.join(HERE, "docs", "python.md"), encoding="utf-8") as f:
        page = f.read()
    files[info + "METADATA"] = ((
        f"Metadata-Version: 2.1\nName: raybridge\nVersion: {number}\n"
        "Summary: Camera and lidar data of a robot's sensors from a 3-D scene, stepped from Python\n"
        "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.21\n"
        "Provides-Extra: gymnasium\nRequires-Dist: gymnasium>=0.29; extra == 'gymnasium'\n"
        f"Description-Content-Type: text/markdown\n\n{page}").encode(), 0o644)
    files[info + "WHEEL"] = ((
        f"Wheel-Version: 1.0\nGenerator: raybridge\nRoot-Is-Purelib: {'true' if binary is None else 'false'}\nTag: {tag}\n").encode(), 0o644)
    for name in ("LICENSE", "NOTICE"):
        with open(os.path.join(HERE, name), "rb") as f:
            files[info + name] = (f.read(), 0o644)
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, (data, _) in sorted(files.items()))
    files[info + "RECORD"] = ((record + info + "RECORD,,\n").encode(), 0o644)
    return f"raybridge-{number}-{tag}.whl", files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the program that the wheel is to have")
    parser.add_argument("--version", default=version(), help="the wheel's version, of PEP 440; default: %(default)s, the package's own")
    parser.add_argument("--out", default="out/wheels", help="folder for the wheel")
    options = parser.parse_args()
    binary = None
    if options.binary is not None:
        with open(options.binary, "rb") as f:
            binary = f.read()
    name, files = contents(binary, checked(options.version))
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for entry, (data, mode) in sorted(files.items()):
            head = zipfile.ZipInfo(entry, (1980, 1, 1, 0, 0, 0))
            head.create_system, head.external_attr, head.compress_type = 3, (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(head, data)
    print(path)


main()
