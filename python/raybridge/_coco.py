"""Reads COCO's annotations: a key frame is a picture."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Sequence, Tuple

from ._dataset import Box2D, Camera, KeyFrame, Segment
from ._errors import Error
from ._nuscenes import load_json

_FILE = re.compile(r"(instances|panoptic)(?:_(.+))?\.json")
_BOX = {"id", "image_id", "category_id", "bbox", "area", "iscrowd", "segmentation", "instance_id", "truncation"}
_SEGMENT = {"id", "category_id", "bbox", "area", "iscrowd"}


def recognised(folder: str) -> bool:
    """Tell whether a folder has annotations of COCO."""
    return bool(_files(folder))


def _files(folder: str) -> Dict[str, Dict[str, str]]:
    """The files of annotations, by their split and kind."""
    there: Dict[str, Dict[str, str]] = {}
    place = os.path.join(folder, "annotations")
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        match = _FILE.fullmatch(name)
        if match:
            there.setdefault(match[2] or "", {})[match[1]] = os.path.join(place, name)
    return there


class Coco:
    """A set of COCO: the rows of its pictures, in the order of the splits and of the files."""

    version = ""
    label_names: Dict[int, str] = {}

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pictures: List[Tuple[str, Dict[str, Any]]] = []  # with their splits
        self._instances: Dict[Tuple[str, int], List[Dict[str, Any]]] = {}
        self._panoptic: Dict[Tuple[str, int], Dict[str, Any]] = {}
        self._categories: Dict[int, Dict[str, Any]] = {}
        self._places: Dict[Tuple[str, str], str] = {}
        self.scenes: Dict[str, Sequence[int]] = {}  # COCO has none: each split counts as one
        for split, kinds in _files(folder).items():
            begin = len(self._pictures)
            known = set()
            for kind, path in sorted(kinds.items()):
                table = load_json(path)
                try:
                    for row in table["categories"]:
                        self._categories[row["id"]] = {**self._categories.get(row["id"], {}), **row}
                    for row in table["images"]:
                        if row["id"] not in known:
                            known.add(row["id"])
                            self._pictures.append((split, row))
                    for row in table["annotations"]:
                        if kind == "instances":
                            self._instances.setdefault((split, row["image_id"]), []).append(row)
                        else:
                            self._panoptic[split, row["image_id"]] = row
                except (KeyError, TypeError) as e:
                    raise Error(f"{path}: no {e} where COCO wants it") from None
            self.scenes[split] = range(begin, len(self._pictures))
        self.categories = tuple(row["name"] for _, row in sorted(self._categories.items()))
        self.splits: Dict[str, Sequence[int]] = {split: pictures for split, pictures in self.scenes.items() if split}

    def __len__(self) -> int:
        return len(self._pictures)

    def frame(self, index: int) -> KeyFrame:
        """Return a picture and what is in it."""
        split, row = self._pictures[index]
        shape = row["height"], row["width"]
        panoptic = self._panoptic.get((split, row["id"]))
        # A file of raybridge names the camera.
        camera = Camera(row.get("camera", "camera"), self._path(split, row["file_name"], "{}", "images/{}", "images", "."), width=shape[1], height=shape[0],
                        boxes=[self._box(a, shape) for a in self._instances.get((split, row["id"]), ())])
        if panoptic is not None:
            camera.segments = [self._segment(s) for s in panoptic["segments_info"]]
            camera.panoptic_path = self._path(split, panoptic["file_name"], "annotations/panoptic_{}", "panoptic_{}", "panoptic/{}", "panoptic", "annotations/panoptic")
        return KeyFrame(split, index - self.scenes[split][0], str(row["id"]), None, None, {camera.channel: camera})

    def _path(self, split: str, name: str, *places: str) -> str:
        """Where a file is: in the first of some folders that has it. {} stands for the split."""
        known = split, places[0]
        if known not in self._places:
            there = (os.path.normpath(place.format(split)) for place in places)
            self._places[known] = next((place for place in there if os.path.exists(os.path.join(self._folder, place, name))), places[0].format(split))
        return os.path.join(self._folder, self._places[known], name)

    def _name(self, id: int) -> str:
        try:
            return str(self._categories[id]["name"])
        except KeyError:
            raise Error(f"{self._folder}: there is no category {id}") from None

    def _box(self, row: Dict[str, Any], shape: Tuple[int, int]) -> Box2D:
        return Box2D(self._name(row["category_id"]), _edges(row["bbox"]), row["area"], str(row.get("instance_id", "")), bool(row["iscrowd"]), row.get("truncation"), segmentation=row.get("segmentation"), shape=shape,
                     extra={k: v for k, v in row.items() if k not in _BOX})

    def _segment(self, row: Dict[str, Any]) -> Segment:
        return Segment(row["id"], self._name(row["category_id"]), _edges(row["bbox"]), row["area"], bool(self._categories[row["category_id"]].get("isthing", 1)),
                       bool(row["iscrowd"]), {k: v for k, v in row.items() if k not in _SEGMENT})


def _edges(box: Sequence[float]) -> Tuple[float, float, float, float]:
    """COCO's boxes are left, top, width and height."""
    left, top, width, height = box
    return left, top, left + width, top + height


__all__ = ["Coco", "recognised"]
