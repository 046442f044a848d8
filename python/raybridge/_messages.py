"""Messages as numpy arrays: CDR, read by the definitions that the program sends."""
from __future__ import annotations

import json
import math
import struct
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._errors import Error
from ._wire import Bytes, Stream

_ENVELOPE = struct.Struct("<QQqq7dHH")

# name: numpy's type and struct's letter
_PRIMITIVES = {
    "bool": ("?", "?"), "byte": ("u1", "B"), "char": ("u1", "B"), "int8": ("i1", "b"), "uint8": ("u1", "B"),
    "int16": ("<i2", "h"), "uint16": ("<u2", "H"), "int32": ("<i4", "i"), "uint32": ("<u4", "I"),
    "int64": ("<i8", "q"), "uint64": ("<u8", "Q"), "float32": ("<f4", "f"), "float64": ("<f8", "d"),
}

# A reader takes the body and where to begin, and returns a value and where it ends.
Reader = Callable[[Bytes, int], Tuple[Any, int]]


def _simple(value: Any) -> Any:
    """Return what a value is in dictionaries, lists, numbers and texts alone."""
    if isinstance(value, (Record, Info, Array)):
        return value.to_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_simple(v) for v in value]
    return value


def _finite(value: Any) -> Any:
    """Return the same with None for numbers that JSON doesn't have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value


class _Plain:
    """What can be written as JSON."""

    def to_dict(self) -> Dict[str, Any]:
        """Return it as dictionaries, lists, numbers and texts."""
        return {k: _simple(v) for k, v in vars(self).items()}

    def to_json(self) -> str:
        """Return it as JSON. NaN and the infinite are null."""
        return json.dumps(_finite(self.to_dict()), allow_nan=False)


class Record(_Plain):
    """A message, or a part of one, with the fields of its definition.

    That of a sample has stamp and info, too.
    """

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]


class Info(_Plain):
    """What is known of a sample beside its data.

    key is sensor/output, topic that of ROS and message its type. sequence counts the sensor's captures, frame the world's instants. stamp and published are
    nanoseconds of simulation time. position (x, y, z) and orientation (x, y, z, w) are where the
    sensor was, in the map frame. Recordings don't tell these: numbers are -1 and the pose is NaN then.
    fields are those of the message that hold no bulk data.
    """

    def __init__(self, key: str, message: str, envelope: Tuple[Any, ...], frame_id: str, topic: str = "") -> None:
        self.key, self.topic, self.message, self.frame_id = key, topic, message, frame_id
        self.sequence, self.frame, self.stamp, self.published = int(envelope[0]), int(envelope[1]), int(envelope[2]), int(envelope[3])
        self.position: Tuple[float, ...] = tuple(envelope[4:7])
        self.orientation: Tuple[float, ...] = tuple(envelope[7:11])
        if not envelope[11] & 1:
            self.sequence = self.frame = -1
            self.position, self.orientation = (math.nan,) * 3, (math.nan,) * 4
        self.fields: Dict[str, Any] = {}

    def to_dict(self) -> Dict[str, Any]:
        """Return all but the message's fields, which the sample has."""
        return {k: _simple(v) for k, v in vars(self).items() if k != "fields"}

    def __repr__(self) -> str:
        return f"Info({self.key}, sequence={self.sequence}, stamp={self.stamp}, frame_id={self.frame_id!r})"


_NOTHING = Info("", "", (0,) * 13, "")


class Array(npt.NDArray[Any]):
    """A picture or a cloud: an array with stamp, the capture time in ns, and info."""

    stamp: int
    info: Info

    def __array_finalize__(self, source: Any) -> None:
        self.stamp = getattr(source, "stamp", 0)
        self.info = getattr(source, "info", _NOTHING)

    def to_dict(self) -> Dict[str, Any]:
        """Return the message's fields, with the data as lists: rows of a picture, or a list for each field of a cloud."""
        names = self.dtype.names
        data = self.tolist() if names is None else {name: np.asarray(self[name]).tolist() for name in names}
        fields = {k: _simple(v) for k, v in self.info.fields.items()}
        return {"stamp": self.stamp, "info": self.info.to_dict(), **fields, "data": data}

    def to_json(self) -> str:
        """Return it as JSON. NaN and the infinite are null."""
        return json.dumps(_finite(self.to_dict()), allow_nan=False)

    def __reduce__(self) -> Any:  # for pickle; copies go by __array_finalize__
        make, arguments, state = super().__reduce__()  # type: ignore[misc]
        return make, arguments, (state, self.stamp, self.info)

    def __setstate__(self, state: Any, /) -> None:
        own, self.stamp, self.info = state
        super().__setstate__(own)


_PIXELS: Dict[str, Tuple[str, int]] = {
    "rgb8": ("u1", 3), "bgr8": ("u1", 3), "rgba8": ("u1", 4), "bgra8": ("u1", 4), "mono8": ("u1", 1), "8UC1": ("u1", 1),
    "mono16": ("<u2", 1), "16UC1": ("<u2", 1), "16SC1": ("<i2", 1), "32SC1": ("<i4", 1), "32FC1": ("<f4", 1),
    "8UC2": ("u1", 2), "8UC3": ("u1", 3), "8UC4": ("u1", 4), "32FC2": ("<f4", 2), "32FC3": ("<f4", 3), "32FC4": ("<f4", 4),
    "32SC2": ("<i4", 2), "16UC3": ("<u2", 3), "rgb16": ("<u2", 3), "rgba16": ("<u2", 4),
}

_POINT_TYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 8: "<f8"}


class Decoder:
    """Reads the messages of one stream."""

    def __init__(self, stream: Stream, key: str) -> None:
        self._key, self._topic, self._message = key, stream.topic, stream.message
        self._read: Optional[Reader] = None
        if stream.encoding == "cdr" and stream.language == "ros2msg":
            self._read = _compile(stream.message, stream.definition)

    def __call__(self, data: Bytes) -> Any:
        """Return an Array for pictures and clouds, a Record for others, with stamp and info."""
        if len(data) < _ENVELOPE.size:
            raise Error(f"{self._key}: a message of {len(data)} bytes is too short")
        envelope = _ENVELOPE.unpack_from(data.data)
        begin = _ENVELOPE.size
        frame_id = data[begin:begin + envelope[12]].tobytes().decode("utf-8", "replace")
        body = data[begin + (envelope[12] + 7) // 8 * 8:]
        info = Info(self._key, self._message, envelope, frame_id, self._topic)
        try:
            if self._read is None:
                return _noted(body, info)
            value, _ = self._read(body[4:], 0)
            if self._message == "sensor_msgs/msg/Image":
                return _noted(_picture(value), info, value)
            if self._message == "sensor_msgs/msg/PointCloud2":
                return _noted(_cloud(value), info, value)
        except (struct.error, ValueError, IndexError) as e:
            raise Error(f"{self._key}: a malformed message: {e}") from e
        value.stamp, value.info = info.stamp, info
        return value


def _noted(array: npt.NDArray[Any], info: Info, message: Optional[Record] = None) -> Array:
    out = array.view(Array)
    if message is not None:
        info.fields = {k: v for k, v in vars(message).items() if k != "data"}
    out.stamp, out.info = info.stamp, info
    return out


def _picture(m: Any) -> npt.NDArray[Any]:
    kind = _PIXELS.get(m.encoding)
    if kind is None:
        raise ValueError(f"pictures of encoding {m.encoding!r} are not known")
    form, channels = np.dtype(kind[0]), kind[1]
    row = m.width * channels * form.itemsize
    rows = m.data[:m.height * m.step].reshape(m.height, m.step)[:, :row]
    shape = (m.height, m.width, channels) if channels > 1 else (m.height, m.width)
    if m.step == row:
        rows = rows.reshape(-1)  # no copy
    picture: npt.NDArray[Any] = np.ascontiguousarray(rows).view(form).reshape(shape)
    return picture


def _cloud(m: Any) -> npt.NDArray[Any]:
    form = np.dtype({
        "names": [f.name for f in m.fields], "offsets": [f.offset for f in m.fields], "itemsize": m.point_step,
        "formats": [_POINT_TYPES[f.datatype] if f.count <= 1 else (_POINT_TYPES[f.datatype], (f.count,)) for f in m.fields],
    })
    points: npt.NDArray[Any] = m.data[:m.width * m.height * m.point_step].view(form)
    return points.reshape(m.height, m.width) if m.height > 1 else points


def _compile(name: str, definition: str) -> Reader:
    """Make the reader of a type from its definition and those of its parts."""
    parts: Dict[str, str] = {}
    head, *rest = definition.split("=" * 80)
    parts[_plain(name)] = head
    for text in rest:
        title, _, body = text.strip().partition("\n")
        parts[_plain(title.replace("MSG:", "").strip())] = body
    made: Dict[str, Reader] = {}

    def reader(kind: str) -> Reader:
        if kind not in made:
            made[kind] = _record(_members(parts[kind], kind), reader)
        return made[kind]

    return reader(_plain(name))


def _plain(name: str) -> str:
    return name.replace("/msg/", "/")


def _members(text: str, kind: str) -> List[Tuple[str, str, str]]:
    """Return type, suffix in brackets and name of the fields; constants are none."""
    members = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if len(words) < 2 or "=" in line.split("#")[0]:
            continue
        base, bracket, count = words[0].partition("[")
        base = base.partition("<=")[0]
        if base not in _PRIMITIVES and base not in ("string", "wstring"):
            if "/" not in base:
                base = {"Header": "std_msgs/Header", "time": "builtin_interfaces/Time"}.get(base, kind.partition("/")[0] + "/" + base)
            base = _plain(base)
        members.append((base, bracket + count, words[1]))
    return members


def _record(members: List[Tuple[str, str, str]], reader: Callable[[str], Reader]) -> Reader:
    fields = [(name, _field(base, suffix, reader)) for base, suffix, name in members]
    if not fields:
        return lambda b, at: (Record(), at + 1)

    def read(b: Bytes, at: int) -> Tuple[Any, int]:
        record = Record()
        values = record.__dict__
        for name, field in fields:
            values[name], at = field(b, at)
        return record, at

    return read


def _field(base: str, suffix: str, reader: Callable[[str], Reader]) -> Reader:
    if not suffix:
        return _single(base, reader)
    count = suffix.strip("[]")
    fixed = int(count) if count.isdigit() else None
    if base in _PRIMITIVES:
        return _numbers(np.dtype(_PRIMITIVES[base][0]), fixed)
    one = _single(base, reader)

    def read(b: Bytes, at: int) -> Tuple[Any, int]:
        n = fixed
        if n is None:
            n, at = _length(b, at)
        values = []
        for _ in range(n):
            value, at = one(b, at)
            values.append(value)
        return values, at

    return read


def _single(base: str, reader: Callable[[str], Reader]) -> Reader:
    if base == "string":
        return _text
    if base not in _PRIMITIVES:
        made: List[Reader] = []

        def nested(b: Bytes, at: int) -> Tuple[Any, int]:
            if not made:
                made.append(reader(base))  # when it is needed
            return made[0](b, at)

        return nested
    form = struct.Struct("<" + _PRIMITIVES[base][1])
    size, unpack = form.size, form.unpack_from

    def number(b: Bytes, at: int) -> Tuple[Any, int]:
        at = -(-at // size) * size
        return unpack(b.data, at)[0], at + size

    return number


_U32 = struct.Struct("<I")


def _length(b: Bytes, at: int) -> Tuple[int, int]:
    at = -(-at // 4) * 4
    n = int(_U32.unpack_from(b.data, at)[0])
    if n > len(b):
        raise ValueError(f"{n} elements in {len(b)} bytes")
    return n, at + 4


def _text(b: Bytes, at: int) -> Tuple[str, int]:
    n, at = _length(b, at)
    return b[at:at + max(0, n - 1)].tobytes().decode("utf-8", "replace"), at + n


def _numbers(form: np.dtype[Any], fixed: Optional[int]) -> Reader:
    def read(b: Bytes, at: int) -> Tuple[Any, int]:
        n = fixed
        if n is None:
            n, at = _length(b, at)
        if n:
            at = -(-at // form.itemsize) * form.itemsize
        end = at + n * form.itemsize
        if end > len(b):
            raise ValueError(f"{n} elements end behind the message")
        return b[at:end].view(form), end

    return read
