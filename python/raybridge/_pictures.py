"""Decodes pictures and masks: PNG and COCO's run lengths by numpy, others by what is installed, or the program."""
from __future__ import annotations

import importlib
import os
import subprocess
import zlib
from typing import Any, List, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from ._errors import ConnectionFailed, Error
from ._launch import binary


def read_picture(path: str) -> npt.NDArray[np.uint8]:
    """Return a picture of a file as height, width and RGB. Pillow reads it, or OpenCV, or the program, whichever is there first."""
    if not os.path.exists(path):
        raise Error(f"{path}: no such picture")
    for read in (_by_pillow, _by_opencv):
        try:
            return read(path)
        except ImportError:
            pass
    return _by_program(path)


def _by_pillow(path: str) -> npt.NDArray[np.uint8]:
    pillow = importlib.import_module("PIL.Image")
    try:
        with pillow.open(path) as picture:
            return np.array(picture.convert("RGB"))
    except OSError as e:
        raise Error(f"{path}: {e}") from None


def _by_opencv(path: str) -> npt.NDArray[np.uint8]:
    cv2 = importlib.import_module("cv2")
    picture: Optional[npt.NDArray[np.uint8]] = cv2.imread(path, cv2.IMREAD_COLOR)
    if picture is None:
        raise Error(f"{path}: OpenCV can't read it")
    return np.ascontiguousarray(picture[..., ::-1])


def _by_program(path: str) -> npt.NDArray[np.uint8]:
    """The program writes PPM: a head of three numbers, and rows of RGB."""
    try:
        done = subprocess.run([binary(), "dataset", "picture", "--", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as e:
        raise ConnectionFailed(f"start {binary()}: {e.strerror}") from e
    if done.returncode != 0:
        raise Error(done.stderr.decode("utf-8", "replace").strip().rpartition("raybridge: ")[2] or f"the program ended with exit code {done.returncode}")
    _, size, _, pixels = done.stdout.split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(bytearray(pixels), np.uint8).reshape(height, width, 3)


_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def read_png(path: str) -> npt.NDArray[np.uint8]:
    """Return a PNG file's picture as height, width and channels, by numpy alone: 8 bits a channel, no palette, not interlaced."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        raise Error(f"{path}: {e.strerror}") from None
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 33:
        raise Error(f"{path}: not a PNG file")
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    bits, kind, interlaced = data[24], data[25], data[28]
    if bits != 8 or kind not in _CHANNELS or interlaced:
        raise Error(f"{path}: a PNG of {bits} bits and colour type {kind}{', interlaced,' if interlaced else ''} is not supported: want 8 bits without palette")
    packed, at = b"", 33
    while at + 8 <= len(data) and data[at + 4:at + 8] != b"IEND":
        size = int.from_bytes(data[at:at + 4], "big")
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    channels = _CHANNELS[kind]
    try:
        rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    except (zlib.error, ValueError) as e:
        raise Error(f"{path}: {e}") from None
    return _unfiltered(rows[:, 0], rows[:, 1:].reshape(height, width, channels))


def _unfiltered(filters: npt.NDArray[np.uint8], rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Undo the filters of PNG's rows (RFC 2083, 6).

    A pixel follows from those to the left, above and above left. So all of a diagonal, one from each row, are computed at once.
    """
    height, width, channels = rows.shape
    out = np.zeros((height + 1, width + 1, channels), np.int16)
    for diagonal in range(height + width - 1):
        y = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        x = diagonal - y
        left, above, corner = out[y + 1, x], out[y, x + 1], out[y, x]
        guess = left + above - corner
        by_left, by_above, by_corner = abs(guess - left), abs(guess - above), abs(guess - corner)
        paeth = np.where((by_left <= by_above) & (by_left <= by_corner), left, np.where(by_above <= by_corner, above, corner))
        predicted = np.choose(filters[y, None], (np.zeros_like(left), left, above, (left + above) >> 1, paeth))
        out[y + 1, x + 1] = (rows[y, x] + predicted) & 255
    return out[1:, 1:].astype(np.uint8)


def mask_of(segmentation: Any, height: int, width: int) -> npt.NDArray[np.bool_]:
    """Return a mask of COCO, height by width: run lengths, packed into text or not, or polygons."""
    if isinstance(segmentation, dict):
        counts = segmentation["counts"]
        if isinstance(counts, (str, bytes)):
            counts = unpacked(counts)
        runs = np.asarray(counts, np.int64)
        if (runs < 0).any() or runs.sum() != height * width or list(segmentation["size"]) != [height, width]:
            raise Error(f"a mask has runs of {int(runs.sum())} pixels and size {segmentation['size']}, and the picture is {width}x{height}")
        return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(width, height).T
    mask = np.zeros((height, width), np.bool_)
    for polygon in segmentation or ():
        mask |= _filled(polygon, height, width)
    return mask


def unpacked(text: Union[str, bytes]) -> List[int]:
    """Return the run lengths of a text: groups of 5 bits from the lowest on, and from the fourth run on the difference to the run two before."""
    runs: List[int] = []
    value = shift = 0
    for character in text if isinstance(text, bytes) else text.encode():
        group = character - 48
        value |= (group & 31) << shift
        shift += 5
        if not group & 32:
            if group & 16:
                value -= 1 << shift
            runs.append(value + runs[-2] if len(runs) > 2 else value)
            value = shift = 0
    return runs


def _filled(polygon: Sequence[float], height: int, width: int) -> npt.NDArray[np.bool_]:
    """The pixels whose centres lie in a polygon of x and y in turn, by the even-odd rule."""
    x, y = np.asarray(polygon, float).reshape(-1, 2).T
    inside = np.zeros((height, width), np.bool_)
    rows, columns = np.arange(height) + 0.5, np.arange(width) + 0.5
    for x0, y0, x1, y1 in zip(x, y, np.roll(x, -1), np.roll(y, -1)):
        crossed = np.flatnonzero((y0 > rows) != (y1 > rows))
        inside[crossed] ^= columns < (x0 + (rows[crossed] - y0) * (x1 - x0) / (y1 - y0 or 1))[:, None]
    return inside


__all__ = ["mask_of", "read_picture", "read_png", "unpacked"]
