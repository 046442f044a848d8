"""Reads the tables of nuScenes."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._dataset import Box2D, Box3D, Camera, Capture, Floats, KeyFrame, Lidar, Radar
from ._errors import Error

Row = Dict[str, Any]

_TABLES = ("category", "attribute", "visibility", "sensor", "calibrated_sensor", "ego_pose", "scene", "sample", "sample_data", "instance", "sample_annotation")
_ANNOTATION = {"token", "sample_token", "instance_token", "attribute_tokens", "visibility_token", "translation", "size", "rotation", "num_lidar_pts", "num_radar_pts", "prev", "next"}
_IN_PICTURE = {"token", "sample_annotation_token", "sample_data_token", "bbox_visible", "pixels", "truncation"}
_LONGEST = 1_500_000  # microseconds over which the devkit still takes a velocity


def versions(folder: str) -> List[str]:
    """Return the names of the folders that have tables."""
    return sorted(name for name in os.listdir(folder) if all(os.path.exists(os.path.join(folder, name, table + ".json")) for table in ("sample", "sample_data")))


def load_json(path: str) -> Any:
    """Return what a file has."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError as e:
        raise Error(f"{path}: {e.strerror}") from None
    except (ValueError, RecursionError) as e:
        raise Error(f"{path}: {e}") from None


class NuScenes:
    """A set of nuScenes: its tables, as rows by their tokens."""

    def __init__(self, folder: str, version: str) -> None:
        self._folder, self.version = folder, version
        tables = os.path.join(folder, version)
        self._tables: Dict[str, Dict[str, Row]] = {}
        for name in _TABLES:
            path = os.path.join(tables, name + ".json")
            try:
                self._tables[name] = {row["token"]: row for row in load_json(path)}
            except (KeyError, TypeError):
                raise Error(f"{path}: want a list of rows with token") from None
        self._labels: Dict[str, Dict[str, str]] = {}
        for name in ("lidarseg", "panoptic"):
            path = os.path.join(tables, name + ".json")
            self._labels[name] = {row["sample_data_token"]: row["filename"] for row in load_json(path)} if os.path.exists(path) else {}

        self._in_picture: Dict[str, List[Row]] = {}  # a table that the devkit's export of 2-D boxes writes, too
        path = os.path.join(tables, "image_annotations.json")
        for row in load_json(path) if os.path.exists(path) else ():
            self._in_picture.setdefault(row["sample_data_token"], []).append(row)

        self._data: Dict[str, List[Row]] = {}
        for row in self._tables["sample_data"].values():
            if row["is_key_frame"]:
                self._data.setdefault(row["sample_token"], []).append(row)
        self._annotations: Dict[str, List[Row]] = {}
        for row in self._tables["sample_annotation"].values():
            self._annotations.setdefault(row["sample_token"], []).append(row)
        of_scene: Dict[str, List[Row]] = {token: [] for token in self._tables["scene"]}
        for row in self._tables["sample"].values():
            if row["scene_token"] not in of_scene:
                raise Error(f"{tables}: sample {row['token']} has scene {row['scene_token']!r}, which is not there")
            of_scene[row["scene_token"]].append(row)
        self._samples: List[Tuple[Row, int]] = []
        self.scenes: Dict[str, Sequence[int]] = {}
        for token, samples in of_scene.items():
            self.scenes[self._tables["scene"][token]["name"]] = range(len(self._samples), len(self._samples) + len(samples))
            self._samples += [(row, k) for k, row in enumerate(sorted(samples, key=lambda row: int(row["timestamp"])))]
        self.categories = tuple(row["name"] for row in self._tables["category"].values())
        self.label_names = {row["index"]: row["name"] for row in self._tables["category"].values() if "index" in row}
        self.splits: Dict[str, Sequence[int]] = {}
        path = os.path.join(tables, "splits.json")
        if os.path.exists(path):
            for name, scenes in load_json(path).items():
                self.splits[name] = [index for scene in scenes for index in self.scenes.get(scene, ())]

    def __len__(self) -> int:
        return len(self._samples)

    def _row(self, table: str, token: str) -> Row:
        try:
            return self._tables[table][token]
        except KeyError:
            raise Error(f"{os.path.join(self._folder, self.version, table + '.json')} has no row {token!r}") from None

    def frame(self, index: int) -> KeyFrame:
        """Return a key frame."""
        sample, number = self._samples[index]
        token: str = sample["token"]
        captures: Dict[str, Capture] = {}
        for row in self._data.get(token, ()):
            capture = self._capture(row)
            captures[capture.channel] = capture
        captures = dict(sorted(captures.items(), key=lambda item: (isinstance(item[1], Radar), isinstance(item[1], Lidar), item[0])))
        stamp = int(sample["timestamp"]) * 1000
        # The ego of the key frame is that of the capture nearest to its time, which is the lidar's.
        nearest = min(captures.values(), key=lambda c: (abs((c.stamp or 0) - stamp), not isinstance(c, Lidar)), default=None)
        return KeyFrame(self._row("scene", sample["scene_token"])["name"], number, token, stamp, nearest.ego_to_global if nearest else None, captures,
                        [self._box(row) for row in self._annotations.get(token, ())], "global")

    def _capture(self, row: Row) -> Capture:
        mount = self._row("calibrated_sensor", row["calibrated_sensor_token"])
        sensor = self._row("sensor", mount["sensor_token"])
        path = os.path.join(self._folder, row["filename"])
        known = (sensor["channel"], path, int(row["timestamp"]) * 1000, _pose(mount), _pose(self._row("ego_pose", row["ego_pose_token"])))
        if sensor["modality"] == "camera":
            matrix = np.array(mount["camera_intrinsic"], float)
            boxes = [self._picture_box(seen) for seen in self._in_picture.get(row["token"], ()) if seen.get("pixels") != 0]
            return Camera(*known, row["width"], row["height"], matrix if matrix.size else None, boxes)
        if sensor["modality"] == "lidar":
            labels, panoptic = (self._file(self._labels[table].get(row["token"])) for table in ("lidarseg", "panoptic"))
            return Lidar(*known, ("x", "y", "z", "intensity", "ring"), labels, panoptic)
        return Radar(*known)

    def _file(self, name: Optional[str]) -> str:
        return "" if name is None else os.path.join(self._folder, name)

    def _box(self, row: Row) -> Box3D:
        width, length, height = row["size"]
        visibility = None
        if row["visibility_token"]:
            least, _, most = self._row("visibility", row["visibility_token"])["level"].lstrip("v").partition("-")  # such as v40-60
            visibility = int(least) / 100, int(most) / 100
        attributes = tuple(self._row("attribute", token)["name"] for token in row["attribute_tokens"])
        return Box3D(self._category(row["instance_token"]), _pose(row), (length, width, height), self._velocity(row), row["instance_token"], attributes, visibility,
                     row["num_lidar_pts"], row["num_radar_pts"], extra={k: v for k, v in row.items() if k not in _ANNOTATION})

    def _picture_box(self, row: Row) -> Box2D:
        """The box of an object in a picture: that of its visible pixels, if the set tells it."""
        instance = self._row("sample_annotation", row["sample_annotation_token"])["instance_token"]
        left, top, right, bottom = row.get("bbox_visible") or row["bbox_corners"]
        return Box2D(self._category(instance), (left, top, right, bottom), row.get("pixels"), instance, truncated=row.get("truncation"),
                     extra={k: v for k, v in row.items() if k not in _IN_PICTURE})

    def _category(self, instance: str) -> str:
        name: str = self._row("category", self._row("instance", instance)["category_token"])["name"]
        return name

    def _velocity(self, row: Row) -> Optional[Floats]:
        """The difference of the centres before and after, as the devkit takes it: nuScenes stores no velocities."""
        first = self._row("sample_annotation", row["prev"]) if row["prev"] else row
        last = self._row("sample_annotation", row["next"]) if row["next"] else row
        begin, end = (self._row("sample", r["sample_token"])["timestamp"] for r in (first, last))
        longest = _LONGEST * (2 if row["prev"] and row["next"] else 1)
        if not 0 < end - begin <= longest:
            return None
        velocity: Floats = (np.array(last["translation"], float) - np.array(first["translation"], float)) / ((end - begin) / 1e6)
        return velocity


def _pose(row: Row) -> Floats:
    """The transform of a row's translation and rotation, whose quaternion begins with w."""
    w, x, y, z = np.array(row["rotation"], float) / np.linalg.norm(row["rotation"])
    out = np.eye(4)
    out[:3, :3] = ((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                   (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
                   (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)))
    out[:3, 3] = row["translation"]
    return out


__all__ = ["NuScenes", "load_json", "versions"]
