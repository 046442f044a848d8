"""Reads KITTI's folders: training, of its object benchmark, and sequences, of odometry and SemanticKITTI."""
from __future__ import annotations

import math
import os
import re
import struct
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._dataset import Box2D, Box3D, Camera, Capture, Floats, KeyFrame, Lidar, inverse
from ._errors import Error

_SEMANTIC = {
    0: "unlabeled", 1: "outlier", 10: "car", 11: "bicycle", 13: "bus", 15: "motorcycle", 16: "on-rails", 18: "truck", 20: "other-vehicle", 30: "person", 31: "bicyclist",
    32: "motorcyclist", 40: "road", 44: "parking", 48: "sidewalk", 49: "other-ground", 50: "building", 51: "fence", 52: "other-structure", 60: "lane-marking",
    70: "vegetation", 71: "trunk", 72: "terrain", 80: "pole", 81: "traffic-sign", 99: "other-object", 252: "moving-car", 253: "moving-bicyclist", 254: "moving-person",
    255: "moving-motorcyclist", 256: "moving-on-rails", 257: "moving-bus", 258: "moving-truck", 259: "moving-other-vehicle",
}
_PARTS = re.compile(r"image_\d|velodyne")


class _Part(NamedTuple):
    """A folder with pictures and clouds: training, or a sequence."""

    scene: str
    folder: str
    names: List[str]  # of its key frames, six digits each
    odometry: bool
    times: List[float]
    poses: List[Floats]  # of rectified camera 0 at each key frame, in the frame that it had at the first one


class _Place(NamedTuple):
    """Where the files of a key frame are. sequence has its times, poses and labels of points, if that is known."""

    files: _Part
    name: str
    sequence: Optional[_Part]
    number: int


def recognised(folder: str) -> bool:
    """Tell whether a folder has a set of KITTI."""
    return any(os.path.isdir(os.path.join(folder, *place)) for place in (("training", "calib"), ("sequences",)))


class Kitti:
    """A set of KITTI: training if it is there, with poses and times of sequences of the same frames, or the sequences."""

    version = ""
    categories = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", "DontCare")
    label_names = _SEMANTIC

    def __init__(self, folder: str) -> None:
        training, sequences = os.path.join(folder, "training"), os.path.join(folder, "sequences")
        parts = [_sequence(folder, name) for name in sorted(os.listdir(sequences), key=lambda name: (len(name), name))] if os.path.isdir(sequences) else []
        self._places = [_Place(part, name, part, number) for part in parts for number, name in enumerate(part.names)]
        self.splits: Dict[str, Sequence[int]] = {}
        if os.path.isdir(os.path.join(training, "calib")):
            part = _Part("training", training, _names(training), False, [], [])
            # Nothing says which frames are the same. If there are as many, they are, in this order.
            same = self._places if len(self._places) == len(part.names) else [_Place(part, name, None, k) for k, name in enumerate(part.names)]
            self._places = [_Place(part, name, place.sequence, place.number) for name, place in zip(part.names, same)]
            self.splits = _splits(folder, part.names)
        scenes: Dict[str, List[int]] = {}
        for index, place in enumerate(self._places):
            scenes.setdefault((place.sequence or place.files).scene, []).append(index)
        self.scenes: Dict[str, Sequence[int]] = {**scenes}

    def __len__(self) -> int:
        return len(self._places)

    def frame(self, index: int) -> KeyFrame:
        """Return a key frame."""
        part, name, sequence, number = self._places[index]
        stamp = round(sequence.times[number] * 1e9) if sequence and sequence.times else None
        calibration = _calibration(os.path.join(part.folder, "calib.txt" if part.odometry else os.path.join("calib", name + ".txt")))
        lidar_to_ego = inverse(_square(calibration["Tr_imu_to_velo"])) if "Tr_imu_to_velo" in calibration else np.eye(4)
        rectified = _square(calibration["R0_rect"]) if "R0_rect" in calibration else np.eye(4)
        to_rectified = rectified @ _square(calibration["Tr" if part.odometry else "Tr_velo_to_cam"])
        rectified_to_ego = lidar_to_ego @ np.linalg.inv(to_rectified)
        ego_to_global = None
        if sequence and sequence.poses:
            ego_to_global = rectified_to_ego @ sequence.poses[number] @ inverse(rectified_to_ego)
        captures: Dict[str, Capture] = {}
        for channel in sorted(filter(_PARTS.fullmatch, os.listdir(part.folder))):
            path = os.path.join(part.folder, channel, name)
            if channel == "velodyne":
                labels = os.path.join(sequence.folder, "labels", sequence.names[number] + ".label") if sequence else ""
                captures[channel] = Lidar(channel, path + ".bin", stamp, lidar_to_ego, ego_to_global, labels_path=labels if os.path.exists(labels) else "")
            else:
                intrinsics, to_camera = _lens(calibration["P" + channel[-1]])
                path += ".png" if os.path.exists(path + ".png") else ".jpg"
                width, height = _size(path)
                captures[channel] = Camera(channel, path, stamp, rectified_to_ego @ inverse(to_camera), ego_to_global, width, height, intrinsics)
        frame = KeyFrame((sequence or part).scene, number, name, stamp, ego_to_global, captures)
        labels = os.path.join(part.folder, "label_2", name + ".txt")
        if os.path.exists(labels):
            for line in _lines(labels):
                box, solid = _label(labels, line)
                if "image_2" in captures:
                    frame.cameras["image_2"].boxes.append(box)
                if solid is not None:
                    frame.objects.append(solid.moved(rectified_to_ego))
        return frame


def _sequence(folder: str, name: str) -> _Part:
    place = os.path.join(folder, "sequences", name)
    times, poses = os.path.join(place, "times.txt"), os.path.join(folder, "poses", name + ".txt")
    names = _names(place)
    part = _Part(name, place, names, True, [float(line) for line in _lines(times)] if os.path.exists(times) else [],
                 [_square(line.split()) for line in _lines(poses)] if os.path.exists(poses) else [])
    for path, lines in ((times, len(part.times)), (poses, len(part.poses))):
        if lines and lines != len(names):
            raise Error(f"{path}: {lines} lines, and the sequence has {len(names)} frames")
    return part


def _splits(folder: str, names: Sequence[str]) -> Dict[str, Sequence[int]]:
    """The frames of each list of ImageSets."""
    sets, places = os.path.join(folder, "ImageSets"), {name: k for k, name in enumerate(names)}
    return {os.path.splitext(file)[0]: [places[name] for name in _lines(os.path.join(sets, file)) if name in places]
            for file in (sorted(os.listdir(sets)) if os.path.isdir(sets) else ())}


def _names(folder: str) -> List[str]:
    """The names of a folder's key frames, as its clouds and pictures have them."""
    names = set()
    for part in filter(_PARTS.fullmatch, os.listdir(folder)):
        names |= {os.path.splitext(file)[0] for file in os.listdir(os.path.join(folder, part))}
    return sorted(names)


def _lines(path: str) -> List[str]:
    try:
        with open(path, encoding="ascii") as f:
            return [line for line in f.read().splitlines() if line]
    except OSError as e:
        raise Error(f"{path}: {e.strerror}") from None


def _calibration(path: str) -> Dict[str, Sequence[str]]:
    lines = (line.partition(":") for line in _lines(path))
    return {key.strip(): values.split() for key, _, values in lines}


def _square(numbers: Sequence[str]) -> Floats:
    """The 4x4 matrix of 12 numbers, row by row, or of a rotation's 9."""
    out = np.eye(4)
    columns = len(numbers) // 3
    out[:3, :columns] = np.array(numbers, float).reshape(3, columns)
    return out


def _lens(projection: Sequence[str]) -> Tuple[Floats, Floats]:
    """What a camera's projection is made of: its intrinsics, and the transform from rectified camera 0 to it."""
    matrix = np.array(projection, float).reshape(3, 4)
    to_camera = np.eye(4)
    to_camera[:3, 3] = np.linalg.solve(matrix[:, :3], matrix[:, 3])
    return matrix[:, :3], to_camera


def _size(path: str) -> Tuple[int, int]:
    """The size of a PNG file. Another's is 0: KITTI doesn't tell it elsewhere."""
    try:
        with open(path, "rb") as f:
            head = f.read(24)
    except OSError as e:
        raise Error(f"{path}: {e.strerror}") from None
    if head[:4] != b"\x89PNG" or len(head) < 24:
        return 0, 0
    width, height = struct.unpack(">II", head[16:])
    return width, height


def _label(path: str, line: str) -> Tuple[Box2D, Optional[Box3D]]:
    """A line's box in the picture, and the one in the frame of rectified camera 0."""
    category, *columns = line.split()
    try:
        truncated, occluded = float(columns[0]), int(columns[1])
        left, top, right, bottom, height, width, length, x, y, z, turn = map(float, columns[3:14])
    except ValueError as e:
        raise Error(f"{path}: {line!r}: {e}") from None
    truncated_or_unknown = None if truncated < 0 else truncated
    grade = None if occluded < 0 else occluded
    box = Box2D(category, (left, top, right, bottom), truncated=truncated_or_unknown, occluded=grade)
    if category == "DontCare":
        return box, None
    pose = np.eye(4)
    # Ahead, to the left and up, of a box that stands on its bottom in a frame whose y axis leads down.
    pose[:3, 0] = math.cos(turn), 0, -math.sin(turn)
    pose[:3, 1] = math.sin(turn), 0, math.cos(turn)
    pose[:3, 2] = 0, -1, 0
    pose[:3, 3] = x, y - height / 2, z
    return box, Box3D(category, pose, (length, width, height), truncated=truncated_or_unknown, occluded=grade)


__all__ = ["Kitti", "recognised"]
