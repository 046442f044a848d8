"""Reads data sets in the folders of nuScenes, COCO and KITTI."""
from __future__ import annotations

import dataclasses
import math
import operator
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Protocol, Sequence, SupportsIndex, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from ._errors import Error, UnknownSensor
from ._pictures import mask_of, read_picture, read_png

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(eq=False)
class Box3D:
    """A box of an object.

    pose takes points of the box (x forward, y left, z up, from its middle) into the frame that was asked for: 4x4. size
    is length, width and height in metres. velocity is in that frame, in m/s. instance is the object's name, the same
    in all key frames of a scene. visibility is the least and the greatest share that the cameras see of it. points of
    lidars and radars are those on it. truncated is the share outside of the picture, and occluded KITTI's grade. What
    the format doesn't tell is None, or empty. extra has fields that are the writer's own.
    """

    category: str
    pose: Floats
    size: Tuple[float, float, float]
    velocity: Optional[Floats] = None
    instance: str = ""
    attributes: Tuple[str, ...] = ()
    visibility: Optional[Tuple[float, float]] = None
    lidar_points: Optional[int] = None
    radar_points: Optional[int] = None
    truncated: Optional[float] = None
    occluded: Optional[int] = None
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def centre(self) -> Floats:
        """The middle of the box."""
        return self.pose[:3, 3]

    @property
    def yaw(self) -> float:
        """The direction of its x axis about the frame's z axis, in radians from the frame's x axis to the left."""
        return math.atan2(self.pose[1, 0], self.pose[0, 0])

    def corners(self) -> Floats:
        """Return its eight corners as rows: the four at the bottom from the left front on clockwise, seen from above, then those at the top."""
        signs = np.array([(x, y, z) for z in (-1, 1) for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1))])
        return move(self.pose, signs * self.size / 2)

    def contains(self, points: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which points lie in it. The points are rows that begin with x, y and z."""
        own = move(inverse(self.pose), np.asarray(points)[:, :3])
        inside: npt.NDArray[np.bool_] = (abs(own) <= np.array(self.size) / 2).all(1)
        return inside

    def moved(self, transform: Floats) -> "Box3D":
        """Return the same box in another frame, to which transform leads: 4x4."""
        velocity = None if self.velocity is None else transform[:3, :3] @ self.velocity
        return dataclasses.replace(self, pose=transform @ self.pose, velocity=velocity)


@dataclasses.dataclass(eq=False)
class Box2D:
    """A box in a picture: left, top, right and bottom in pixels, from the picture's corner in COCO, and from the first pixel's middle in KITTI.

    area is how many pixels the object has. instance is the object's name, where the format has one. crowd: it is a group.
    truncated is the share outside of the picture, and occluded KITTI's grade. extra has fields that are the writer's own.
    """

    category: str
    box: Tuple[float, float, float, float]
    area: Optional[float] = None
    instance: str = ""
    crowd: bool = False
    truncated: Optional[float] = None
    occluded: Optional[int] = None
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    segmentation: Any = dataclasses.field(default=None, repr=False)
    shape: Tuple[int, int] = (0, 0)

    def mask(self) -> Optional[npt.NDArray[np.bool_]]:
        """Return which pixels are the object's, or None if the set has no masks."""
        return mask_of(self.segmentation, *self.shape) if self.segmentation is not None else None


@dataclasses.dataclass(eq=False)
class Segment:
    """A segment of a panoptic picture: id is the value of its pixels. thing: it is one object, and not stuff such as road."""

    id: int
    category: str
    box: Tuple[float, float, float, float]
    area: float
    thing: bool
    crowd: bool
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class Capture:
    """What one sensor has of a key frame: a Camera, a Lidar or a Radar.

    channel is the sensor's name and path its file. stamp is the time of the capture in ns, None if the set has no times.
    to_ego takes points of the sensor's frame into the ego's, and ego_to_global those of the ego at that time into the
    global frame: 4x4, None if the set doesn't tell.
    """

    channel: str
    path: str
    stamp: Optional[int] = None
    to_ego: Optional[Floats] = None
    ego_to_global: Optional[Floats] = None

    def transform(self, frame: str) -> Floats:
        """Return the 4x4 matrix that takes points of the sensor's frame into "sensor", "ego" or "global"."""
        if frame == "sensor":
            return np.eye(4)
        if frame not in ("ego", "global"):
            raise Error(f"frame {frame!r}: want sensor, ego or global")
        if self.to_ego is None:
            raise Error(f"{self.channel}: the set has no calibration")
        if frame == "ego":
            return self.to_ego
        if self.ego_to_global is None:
            raise Error(f"{self.channel}: the set has no poses")
        return self.ego_to_global @ self.to_ego


@dataclasses.dataclass(eq=False)
class Camera(Capture):
    """A picture of a key frame, which is decoded when it is asked for.

    Its frame has x to the right, y down and z ahead. intrinsics is the 3x3 matrix, None if the set doesn't tell. boxes are those of
    the picture, and segments those of its panoptic picture.
    """

    width: int = 0
    height: int = 0
    intrinsics: Optional[Floats] = None
    boxes: List[Box2D] = dataclasses.field(default_factory=list)
    segments: List[Segment] = dataclasses.field(default_factory=list)
    panoptic_path: str = ""

    def image(self) -> npt.NDArray[np.uint8]:
        """Return the picture: height, width and RGB. Pillow decodes it, or OpenCV, or the program, whichever is there first."""
        return read_picture(self.path)

    def panoptic(self) -> Optional[npt.NDArray[np.int32]]:
        """Return the segment of each pixel: height and width, 0 for none. It is None if the set has no panoptic pictures."""
        if not self.panoptic_path:
            return None
        picture = read_png(self.panoptic_path)
        if picture.shape[2] < 3:
            raise Error(f"{self.panoptic_path}: a panoptic picture is RGB")
        ids: npt.NDArray[np.int32] = picture[..., :3].astype(np.int32) @ np.array((1, 256, 65536), np.int32)
        return ids

    def project(self, points: npt.NDArray[Any]) -> Floats:
        """Return the pixels, as rows of x and y, of points of the camera's frame, as rows. They are NaN for points behind it."""
        if self.intrinsics is None:
            raise Error(f"{self.channel}: the set has no calibration")
        rays = np.asarray(points, float)[:, :3] @ self.intrinsics.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rays[:, 2:] > 0, rays[:, :2] / rays[:, 2:], np.nan)


@dataclasses.dataclass(eq=False)
class Lidar(Capture):
    """A cloud of a key frame, which is read when it is asked for. fields names the columns."""

    fields: Tuple[str, ...] = ("x", "y", "z", "intensity")
    labels_path: str = ""
    panoptic_path: str = ""

    def points(self, frame: str = "ego") -> npt.NDArray[Any]:
        """Return the points as rows of x, y, z and the other fields, in "ego", "sensor" or "global".

        They are float32, and float64 in the global frame, whose coordinates may be large. The ego's frame is that at the
        cloud's stamp.
        """
        values = from_file(self.path, np.dtype("<f4"), len(self.fields))
        if frame == "sensor":
            return values
        moved = move(self.transform(frame), values[:, :3])
        if frame == "global":
            return np.concatenate((moved, values[:, 3:]), axis=1)
        values[:, :3] = moved
        return values

    def labels(self) -> Optional[npt.NDArray[np.uint16]]:
        """Return the label of each point, whose names Dataset.label_names has, or None if the set has no labels of points."""
        if self.labels_path.endswith(".label"):
            return (self._semantic_kitti() & 0xffff).astype(np.uint16)
        if self.labels_path:
            return from_file(self.labels_path, np.dtype("u1"), 1)[:, 0].astype(np.uint16)
        panoptic = self._panoptic()
        return None if panoptic is None else panoptic // np.uint16(1000)

    def instances(self) -> Optional[npt.NDArray[np.uint16]]:
        """Return a number for each point, the same for all points of an object of its category, and 0 for none. It is None if the set has none."""
        if self.labels_path.endswith(".label"):
            return (self._semantic_kitti() >> 16).astype(np.uint16)
        panoptic = self._panoptic()
        return None if panoptic is None else panoptic % np.uint16(1000)

    def _semantic_kitti(self) -> npt.NDArray[Any]:
        return from_file(self.labels_path, np.dtype("<u4"), 1)[:, 0]

    def _panoptic(self) -> Optional[npt.NDArray[np.uint16]]:
        if not self.panoptic_path:
            return None
        try:
            with np.load(self.panoptic_path) as archive:
                data: npt.NDArray[np.uint16] = archive["data"].astype(np.uint16)
                return data
        except (OSError, ValueError, KeyError) as e:
            raise Error(f"{self.panoptic_path}: {e}") from None


@dataclasses.dataclass(eq=False)
class Radar(Capture):
    """The returns of a radar at a key frame, which are read when they are asked for."""

    def points(self, frame: str = "ego") -> npt.NDArray[Any]:
        """Return them as a structured array with the fields of the file, such as x, y, z, rcs, vx and vx_comp.

        Places and velocities are in "ego", "sensor" or "global"; x, y and z are float64 in the global frame. All returns
        are there: the devkit of nuScenes keeps those with invalid_state 0, dyn_prop 0 to 6 and ambig_state 3 unless it is told otherwise.
        """
        returns = read_pcd(self.path)
        returns = returns[~np.isnan(returns["x"])]  # one without a place stands for none at all
        if frame == "sensor":
            return returns
        transform = self.transform(frame)
        if frame == "global":
            returns = returns.astype([(name, "<f8" if name in "xyz" else returns.dtype[name]) for name in returns.dtype.names or ()])
        names = returns.dtype.names or ()
        returns["x"], returns["y"], returns["z"] = move(transform, np.stack([returns[axis].astype(float) for axis in "xyz"], 1)).T
        for x, y in (("vx", "vy"), ("vx_comp", "vy_comp")):
            if x in names and y in names:
                returns[x], returns[y] = transform[:2, :2] @ np.stack((returns[x], returns[y]))
        return returns


@dataclasses.dataclass(eq=False)
class KeyFrame:
    """All that a set has of one instant.

    scene is the scene's name, number the key frame's place in it, from 0, and token its name in the set. stamp is in ns:
    since 1970 in nuScenes, since the beginning of the scene in KITTI, None if the set has no times. ego_to_global takes
    points of the ego at stamp into the global frame, None if the set has no poses. A key frame can be pickled and needs no Dataset.
    """

    scene: str
    number: int
    token: str
    stamp: Optional[int]
    ego_to_global: Optional[Floats]
    captures: Dict[str, Capture]
    objects: List[Box3D] = dataclasses.field(default_factory=list, repr=False)
    frame_of_objects: str = "ego"

    @property
    def cameras(self) -> Dict[str, Camera]:
        """The pictures, by their channels."""
        return {name: c for name, c in self.captures.items() if isinstance(c, Camera)}

    @property
    def lidars(self) -> Dict[str, Lidar]:
        """The clouds, by their channels."""
        return {name: c for name, c in self.captures.items() if isinstance(c, Lidar)}

    @property
    def radars(self) -> Dict[str, Radar]:
        """The returns of radars, by their channels."""
        return {name: c for name, c in self.captures.items() if isinstance(c, Radar)}

    def __getitem__(self, channel: str) -> Any:
        """Return the Camera, Lidar or Radar of a channel."""
        return self._capture(channel)

    def _capture(self, channel: str) -> Capture:
        try:
            return self.captures[channel]
        except KeyError:
            raise UnknownSensor(f"the key frame has no {channel!r}; it has {', '.join(self.captures) or 'nothing'}") from None

    def transform(self, source: str, target: str) -> Floats:
        """Return the 4x4 matrix that takes points from one frame into another. A frame is "ego", "global" or a channel, at the time of its capture."""
        if source == target:
            return np.eye(4)
        # A set without poses is of one instant, so that the ego's frame does in place of the global one.
        common = "ego" if self.ego_to_global is None and "global" not in (source, target) else "global"
        there: Floats = inverse(self._into(common, target)) @ self._into(common, source)
        return there

    def _into(self, common: str, frame: str) -> Floats:
        """The matrix that takes points of a frame into the common one."""
        if frame == common:
            return np.eye(4)
        if frame != "ego":
            return self._capture(frame).transform(common)
        if self.ego_to_global is None:
            raise Error("the set has no poses")
        return self.ego_to_global

    def boxes(self, frame: str = "ego") -> List[Box3D]:
        """Return the boxes of the objects in a frame: "ego", "global", or a channel's at the time of its capture."""
        if not self.objects:
            return []
        transform = self.transform(self.frame_of_objects, frame)
        return [box.moved(transform) for box in self.objects]


class Source(Protocol):
    """A set of one format."""

    version: str
    categories: Tuple[str, ...]
    label_names: Dict[int, str]
    scenes: Dict[str, Sequence[int]]
    splits: Dict[str, Sequence[int]]

    def __len__(self) -> int: ...

    def frame(self, index: int) -> KeyFrame: ...


class Dataset(Sequence[KeyFrame]):
    """The key frames of a set, in the order of their scenes and times.

    Its length is known, an index reads one key frame from the tables in memory, and a slice is a Dataset of the same
    tables. No file of a picture or a cloud is opened before it is asked for. It can be pickled, so it is a map-style
    data set for a DataLoader as it is.

    format is nuscenes, coco or kitti. categories are the names that boxes may have, and label_names are those of the
    labels of points. version is nuScenes's folder of tables, which must be given if there are several.
    """

    def __init__(self, folder: Union[str, "os.PathLike[str]"], *, version: Optional[str] = None, split: Optional[str] = None) -> None:
        self.folder = os.fspath(folder)
        self.format, self._source = _open(self.folder, version)
        self.version = self._source.version
        self.categories = self._source.categories
        self.label_names = self._source.label_names
        self._indices: Sequence[int] = range(len(self._source))
        if split is not None:
            self._indices = _named("split", self._source.splits, split)

    @property
    def scenes(self) -> Tuple[str, ...]:
        """The names of the set's scenes."""
        return tuple(self._source.scenes)

    @property
    def splits(self) -> Tuple[str, ...]:
        """The names of the set's splits, such as train and val: those of nuScenes's splits.json, KITTI's ImageSets and COCO's files."""
        return tuple(self._source.splits)

    def scene(self, name: str) -> "Dataset":
        """Return the key frames of one scene of the set."""
        return self._part(_named("scene", self._source.scenes, name))

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: SupportsIndex) -> KeyFrame: ...

    @overload
    def __getitem__(self, index: slice) -> "Dataset": ...

    def __getitem__(self, index: Union[SupportsIndex, slice]) -> Union[KeyFrame, "Dataset"]:
        if isinstance(index, slice):
            return self._part(self._indices[index])
        return self._source.frame(self._indices[operator.index(index)])

    def __iter__(self) -> Iterator[KeyFrame]:
        return map(self._source.frame, self._indices)

    def __repr__(self) -> str:
        return f"Dataset({self.folder!r}, {self.format}, {len(self)} key frames)"

    def _part(self, indices: Sequence[int]) -> "Dataset":
        part = object.__new__(Dataset)
        part.__dict__.update(self.__dict__)
        part._indices = indices
        return part


def _named(what: str, there: Mapping[str, Sequence[int]], name: str) -> Sequence[int]:
    try:
        return there[name]
    except KeyError:
        raise Error(f"the set has no {what} {name!r}; it has {', '.join(there) or 'none'}") from None


def _open(folder: str, version: Optional[str]) -> Tuple[str, Source]:
    """Find out what a folder has."""
    from . import _coco, _kitti, _nuscenes

    if not os.path.isdir(folder):
        raise Error(f"{folder}: no such folder")
    versions = _nuscenes.versions(folder)
    if version is not None and version not in versions:
        raise Error(f"{folder} has no tables of nuScenes in {version!r}; it has them in {', '.join(versions) or 'none'}")
    if version is None and len(versions) > 1:
        raise Error(f"{folder} has several versions: give version=, one of {', '.join(versions)}")
    if versions:
        return "nuscenes", _nuscenes.NuScenes(folder, version or versions[0])
    if _coco.recognised(folder):
        return "coco", _coco.Coco(folder)
    if _kitti.recognised(folder):
        return "kitti", _kitti.Kitti(folder)
    raise Error(f"{folder} is no set: want the folder that has nuScenes's tables in a folder of a version, COCO's annotations, or KITTI's training or sequences")


def inverse(transform: Floats) -> Floats:
    """Return the transform back. It is one of a rotation and a translation: 4x4."""
    out = np.eye(4)
    out[:3, :3] = transform[:3, :3].T
    out[:3, 3] = -out[:3, :3] @ transform[:3, 3]
    return out


def move(transform: Floats, points: npt.NDArray[Any]) -> Floats:
    """Return points, as rows of x, y and z, in another frame."""
    moved: Floats = points @ transform[:3, :3].T + transform[:3, 3]
    return moved


def from_file(path: str, kind: "np.dtype[Any]", columns: int) -> npt.NDArray[Any]:
    """Return a file's values as rows, which may be written to."""
    try:
        values = np.fromfile(path, kind)
        size = os.path.getsize(path)
    except OSError as e:
        raise Error(f"{path}: {e.strerror}") from None
    if size != values.size * kind.itemsize or values.size % columns:
        raise Error(f"{path}: {size} bytes are no multiple of {columns * kind.itemsize}")
    return values.reshape(-1, columns)


def read_pcd(path: str) -> npt.NDArray[Any]:
    """Return the points of a binary PCD file as a structured array, which may be written to."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        raise Error(f"{path}: {e.strerror}") from None
    head: Dict[str, List[str]] = {}
    at = 0
    while "DATA" not in head:
        end = data.find(b"\n", at)
        if end < 0:
            raise Error(f"{path}: its header has no line DATA")
        words = data[at:end].decode("ascii", "replace").split()
        if words:
            head[words[0]] = words[1:]
        at = end + 1
    try:
        if head["DATA"] != ["binary"]:
            raise ValueError(f"DATA {' '.join(head['DATA'])} is not supported: want binary")
        kinds = {"F": "f", "I": "i", "U": "u"}
        dtype = np.dtype([(name, f"<{kinds[kind]}{size}") for name, kind, size in zip(head["FIELDS"], head["TYPE"], head["SIZE"])])
        points = np.frombuffer(bytearray(data[at:]), dtype, int(head["POINTS"][0]))
    except (KeyError, IndexError, TypeError, ValueError) as e:
        raise Error(f"{path}: {e}") from None
    return points


__all__ = ["Box2D", "Box3D", "Camera", "Capture", "Dataset", "KeyFrame", "Lidar", "Radar", "Segment"]
