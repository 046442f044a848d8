"""A simulation: actors in, sensor data out."""
from __future__ import annotations

import base64
import decimal
import functools
import math
import numbers
import operator
import re
import struct
import time as clock
import urllib.parse
import warnings
import weakref
import zlib
from collections.abc import Mapping as AbstractMapping
from fractions import Fraction
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, SupportsIndex, Tuple, Union

import numpy as np

from ._errors import Busy, Closed, Refused, Timeout, Unfinished, UnknownSensor
from ._messages import Array, Decoder
from ._wire import SUBSCRIBE, Address, Api, Bytes, Connection, Stream, proto_fields, varint

_KINDS = ["failed", "busy", "wrong_mode", "time", "value", "unknown_actor", "duplicate", "full", "malformed", "ended",
          "unknown_signal"]
_WAITS = {"delivered": 0, "captured": 1, "none": 2}
_REFERENCES = {"ground_centre": 0, "box_centre": 1, "rear_axle": 2, "front_bumper": 3}
_ACTOR = struct.Struct("<BBBIBB7d")
_VELOCITY, _ANGULAR, _JUMP = 1, 2, 4
_LIGHTS = {"head": 256, "brake": 512, "left": 1024, "right": 2048, "reverse": 4096}
_SIGNALS = {"red": 0, "yellow": 1, "green": 2, "off": 3}
_EARLY, _EARLY_BYTES = 1000, 16 << 20  # what is kept of an output between steps

Vector = Sequence[float]


class Pose(NamedTuple):
    """Where something is: metres and radians, x forward, y left, z up, in the map frame.

    orientation (x, y, z, w) counts in place of the angles. velocity (m/s) and angular_velocity
    (rad/s) are in the map frame; without them they follow from the pose before. jump: it did not
    move here, it is here from now on. lights are those of a vehicle that are on: head, brake, left,
    right, reverse. joints are values of the model's joints, in radians or metres: by their names, or
    those of the first ones in the order that Sim.models has.
    """

    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    orientation: Optional[Vector] = None
    velocity: Optional[Vector] = None
    angular_velocity: Optional[Vector] = None
    jump: bool = False
    lights: Sequence[str] = ()
    joints: Union[Mapping[str, float], Vector] = ()

    @property
    def quaternion(self) -> Tuple[float, ...]:
        """The orientation as x, y, z, w."""
        if self.orientation is not None:
            return tuple(self.orientation)
        if self.pitch == 0 and self.roll == 0:
            return 0.0, 0.0, math.sin(self.yaw / 2), math.cos(self.yaw / 2)
        (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a / 2), math.cos(a / 2)) for a in (self.roll, self.pitch, self.yaw))
        return (sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy)


def _numbers(what: str, given: Vector, n: int) -> List[float]:
    """Return the n numbers that were given."""
    try:
        numbers = [float(x) for x in given]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != n:
        raise Refused(f"{what} {given!r}: want {n} numbers", "value")
    return numbers


def _values(pose: Pose) -> Tuple[int, List[float]]:
    if not isinstance(pose, Pose):
        raise Refused(f"{pose!r}: want a Pose", "value")
    try:
        flags, values = 0, [float(pose.x), float(pose.y), float(pose.z)]
        values += pose.quaternion if pose.orientation is None else _numbers("orientation", pose.orientation, 4)
    except (TypeError, ValueError) as e:
        raise Refused(f"{pose}: {e}", "value") from None
    if pose.velocity is not None:
        flags, values = flags | _VELOCITY, values + _numbers("velocity", pose.velocity, 3)
    if pose.angular_velocity is not None:
        flags, values = flags | _ANGULAR, values + _numbers("angular_velocity", pose.angular_velocity, 3)
    if pose.jump:
        flags |= _JUMP
    if not hasattr(pose.joints, "__len__"):
        raise _no_joints(pose)
    for light in pose.lights:
        if light not in _LIGHTS:
            raise Refused(f"light {light!r}: want {', '.join(_LIGHTS)}", "value")
        flags |= _LIGHTS[light]
    return flags, values


def _part(field: int, content: bytes) -> bytes:
    return bytes((field << 3 | 2,)) + varint(len(content)) + content


def _state(pose: Pose) -> bytes:
    flags, values = _values(pose)
    out = b"\x08" + varint(flags) + _part(2, struct.pack(f"<{len(values)}d", *values))
    if len(pose.joints) == 0:
        return out
    named = isinstance(pose.joints, AbstractMapping)
    try:
        numbers = [float(x) for x in (pose.joints.values() if isinstance(pose.joints, AbstractMapping) else pose.joints)]
    except (TypeError, ValueError):
        raise _no_joints(pose) from None
    out += _part(5, struct.pack(f"<{len(numbers)}d", *numbers))
    return out + b"".join(_part(6, _text("joint", name)) for name in pose.joints if named)


def _no_joints(pose: Pose) -> Refused:
    return Refused(f"joints {pose.joints!r}: want numbers, by their names or in the model's order", "value")


def _ref(who: object) -> Union[int, str]:
    """What the program knows an actor by: a handle, of numpy too, or a name."""
    if isinstance(who, Actor):
        who = who.name if who.handle is None else who.handle
    return who if isinstance(who, str) else _number(who, f"actor {who!r}: want an Actor, a name or a handle", "handle")


def _signal(light: Union[SupportsIndex, str], state: str) -> bytes:
    """What a traffic light shows."""
    if not isinstance(state, str) or state not in _SIGNALS:
        raise Refused(f"state {state!r}: want {', '.join(_SIGNALS)}", "value")
    if isinstance(light, str):
        who = _part(2, _text("light", light))
    else:
        who = b"\x0d" + struct.pack("<I", _number(light, f"light {light!r}: want a name or an id", "id"))
    return who + bytes((0x18, _SIGNALS[state]))


def _number(n: Any, want: str, what: str) -> int:
    number = _whole(n, want, "value")
    if not 0 < number < 1 << 32:
        raise Refused(f"{what} {number}: want 1 to {(1 << 32) - 1}", "value")
    return number


def _text(what: str, text: Any) -> bytes:
    try:
        encoded: bytes = text.encode()
        return encoded
    except (AttributeError, UnicodeEncodeError):
        raise Refused(f"{what} {text!r}: want a text", "value") from None


def _whole(n: Any, want: str, kind: str) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise Refused(want, kind) from None


def _fraction(text: str) -> Fraction:
    """Read a decimal number, or a fraction of two."""
    if not re.fullmatch(r" *\d{1,18}(\.\d{1,18})?( */ *\d{1,18}(\.\d{1,18})?)? *", text):
        raise ValueError
    above, _, below = text.partition("/")
    return Fraction(above.strip()) / Fraction(below.strip() or 1)


def _nearest(duration: float) -> Fraction:
    """Return the fraction that a float is meant to be, such as 1/30, or else its whole nanoseconds."""
    near = Fraction(duration).limit_denominator(1_000_000)
    return near if abs(near - Fraction(duration)) <= 1e-13 * duration else Fraction(round(duration * 1e9), 10**9)


@functools.lru_cache(256, typed=True)
def _exact(duration: Any) -> Fraction:
    """Return a duration in nanoseconds, exactly."""
    exact = Fraction(0)
    if isinstance(duration, str):
        exact = _fraction(duration)
    elif 1e-9 <= duration < 9e9:
        exact = Fraction(duration) if isinstance(duration, (numbers.Rational, decimal.Decimal)) else _nearest(float(duration))
    if not 1 <= exact * 10**9 < 9 * 10**18:
        raise ValueError
    return exact * 10**9


def _nanoseconds(duration: Any) -> Fraction:
    """Return a step's duration in nanoseconds, exactly."""
    try:
        return _exact(duration)
    except (TypeError, ValueError, ArithmeticError):
        raise Refused(f"a step of {duration!r} s: want a number, a nanosecond (1e-9) at least, or a text such as \"1/30\"", "time") from None


def _why(failure: Dict[int, Any]) -> Tuple[str, str]:
    """Return the text and the kind of a step's failure."""
    status = failure.get(1, 0)
    return failure.get(2, b"").decode(), _KINDS[status] if status < len(_KINDS) else "failed"


def _who(ref: Union[int, str]) -> bytes:
    return b"\x1d" + struct.pack("<I", ref) if isinstance(ref, int) else _part(4, _text("actor", ref))


class Actor:
    """Somebody who was spawned. It comes with the next step, which gives it its handle."""

    def __init__(self, sim: "Sim", name: str, model: str) -> None:
        self._sim, self.name, self.model = sim, name, model
        self.handle: Optional[int] = None

    def destroy(self) -> None:
        """Let it go with the next step. It may be called again."""
        self._sim._remove(self)

    def __repr__(self) -> str:
        return f"Actor({self.name!r}, handle={self.handle})"


class Model(NamedTuple):
    """A model that actors may have: its length, width and height in metres, and whether a color shows.

    joints are the units (rad or m) of its joints by their names, in the order of their values.
    """

    size: Tuple[float, ...]
    paint: bool
    joints: Dict[str, str]


class Weather(NamedTuple):
    """The weather that all sensors feel.

    visibility is the meteorological optical range in metres, None where nothing limits it. rain and snow are
    mm/h of water, wind is where the air goes to, m/s in the map frame. wetness of the ground and cloud are 0 to 1; where they
    are None they follow from rain and snow. sim.weather has numbers for both, which a _replace(rain=20) keeps:
    _replace(rain=20, wetness=None) has them follow.
    """

    visibility: Optional[float] = None
    rain: float = 0.0
    snow: float = 0.0
    wetness: Optional[float] = None
    wind: Tuple[float, float] = (0.0, 0.0)
    cloud: Optional[float] = None


def weather_keys(to: Any) -> Dict[str, Any]:
    """What the API takes: the keys that are given."""
    if isinstance(to, str):
        return {"preset": to}
    if isinstance(to, Weather):
        keys = {key: value for key, value in to._asdict().items() if value is not None}
    elif isinstance(to, AbstractMapping):
        keys = dict(to)
    else:
        raise Refused(f"weather {to!r}: want a preset, or a mapping of its keys", "value")
    if "wind" in keys and not isinstance(keys["wind"], AbstractMapping):
        keys["wind"] = dict(zip("xy", _numbers("wind", keys["wind"], 2)))
    for key, value in [*keys.items(), *(("wind." + axis, x) for axis, x in keys.get("wind", {}).items())]:
        if isinstance(value, numbers.Real) and not math.isfinite(value):
            raise Refused(f"{key} {value!r}: want a finite number", "value")
    return keys


class Sensor(NamedTuple):
    """An output of a sensor."""

    key: str  # sensor/output
    sensor: str
    output: str
    type: str
    topic: str
    message: str
    definition: str


class Ego(NamedTuple):
    """The vehicle that carries the sensors: by its rear axle on the ground, in the map frame."""

    position: Tuple[float, ...]
    orientation: Tuple[float, ...]
    velocity: Tuple[float, ...]
    angular_velocity: Tuple[float, ...]

    @property
    def yaw(self) -> float:
        """Heading in radians, counter-clockwise from x."""
        return _yaw(self.orientation)


class ActorState(NamedTuple):
    """An actor that is there, by the middle of its underside, in the map frame.

    own says that it is the scene's own traffic, which steps don't move.
    """

    handle: int
    name: str
    model: str
    position: Tuple[float, ...]
    orientation: Tuple[float, ...]
    velocity: Tuple[float, ...]
    angular_velocity: Tuple[float, ...]
    own: bool

    @property
    def yaw(self) -> float:
        """Heading in radians, counter-clockwise from x."""
        return _yaw(self.orientation)


def _yaw(orientation: Tuple[float, ...]) -> float:
    x, y, z, w = orientation
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _ego(state: Dict[int, Any]) -> Ego:
    flags, none = state.get(1, 0), (0.0, 0.0, 0.0)
    v = struct.unpack(f"<{len(state[2]) // 8}d", state[2])
    return Ego(v[:3], v[3:7], v[7:10] if flags & _VELOCITY else none, v[-3:] if flags & _ANGULAR else none)


class Frame(AbstractMapping):  # type: ignore[type-arg]
    """What a step brought. frame["front/image"] is the newest sample, None where nothing was due.

    time is the simulation time in ns and number the world's frame at the step's end. fired says how
    often each sensor was due, and lost how many of these firings are not here. missing says of such
    sensors why, and of outputs how many samples were left out. Pickles and copies have all samples.
    """

    def __init__(self, sim: "Sim", data: Dict[int, List[Bytes]]) -> None:
        self._sim: Union[Sim, _Kept] = sim
        self._data: Mapping[int, Sequence[Any]] = data
        self._made: Dict[Tuple[int, int], Any] = {}
        self.time = 0
        self.number = 0
        self.ego: Optional[Ego] = None
        self.missing: Dict[str, str] = {}
        self.fired: Dict[str, int] = {}
        self.lost: Dict[str, int] = {}

    def _count(self, delivery: Dict[int, Any]) -> None:
        """Count a firing, or several of a sensor that are told as one."""
        sensor, firings = delivery[1].decode(), 1 + delivery.get(6, 0)
        self.fired[sensor] = self.fired.get(sensor, 0) + firings
        if 5 in delivery:
            self.missing.setdefault(sensor, delivery[5].decode())
            self.lost[sensor] = self.lost.get(sensor, 0) + (delivery.get(7, 0) or 1)

    def __getstate__(self) -> Dict[str, Any]:
        samples = {id: [self._sample(id, i - len(data)) for i in range(len(data))] for id, data in self._data.items()}
        kept = _Kept({id: self._sim._key(id) for id in samples}, self._sim._known_keys())
        return {**vars(self), "_sim": kept, "_data": samples, "_made": {}}

    def _sample(self, id: int, i: int) -> Any:
        if (id, i) not in self._made:
            self._made[id, i] = self._sim._decode(id, self._data[id][i])
        return self._made[id, i]

    def _find(self, key: str) -> int:
        """The stream of a key, also of a sensor that has ended since."""
        for id in reversed(list(self._data)):
            if self._sim._key(id) == key:
                return id
        return self._sim._id(key)

    def __getitem__(self, key: str) -> Any:
        id = self._find(key)
        return self._sample(id, -1) if self._data.get(id) else None

    def all(self, key: str) -> List[Any]:
        """Return all samples of the step, the oldest first."""
        id = self._find(key)
        return [self._sample(id, i - len(self._data[id])) for i in range(len(self._data.get(id, [])))]

    def __iter__(self) -> Iterator[str]:
        """The keys that have data."""
        return iter([self._sim._key(id) for id in sorted(self._data)])

    def __len__(self) -> int:
        return len(self._data)

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __repr__(self) -> str:
        return f"Frame(time={self.time}, {', '.join(self)})"

    def _repr_html_(self) -> str:
        pictures = ""
        for key in self:
            picture = _visible(self[key])
            if picture is not None:
                text = base64.b64encode(png(picture)).decode()
                pictures += f'<figure><img src="data:image/png;base64,{text}"><figcaption>{key}</figcaption></figure>'
        return pictures or repr(self)

    def show(self) -> None:
        """Show the pictures in a notebook; elsewhere print what there is."""
        try:
            from IPython.display import display  # type: ignore[import]
        except ImportError:
            print(self)
            return
        display(self)


def _visible(sample: Any) -> Any:
    """Return a picture as png takes it, None for other samples. One of a number a pixel is grey, its largest white."""
    if not isinstance(sample, Array):
        return None
    encoding = sample.info.fields.get("encoding", "")
    if encoding in ("rgb8", "rgba8"):
        return sample
    if encoding in ("bgr8", "bgra8"):
        return sample[..., [2, 1, 0, 3][:sample.shape[2]]]
    if not encoding or sample.ndim != 2:
        return None
    known = np.where(np.isfinite(sample), sample, 0)
    return (known * (255 / max(1e-9, float(known.max(initial=0))))).clip(0, 255).astype(np.uint8)


def png(picture: Any) -> bytes:
    """Return a picture of HxW, HxWx3 or HxWx4 bytes as a PNG file: grey, RGB or RGBA.

    Others, such as depth in metres, are scaled to bytes first: they would wrap.
    """
    if not np.can_cast(picture.dtype, np.uint8):
        raise Refused(f"picture of {picture.dtype}: want uint8, so scale it, such as by (picture.clip(0, 50) * 5.1).astype(numpy.uint8)", "value")
    height, width = picture.shape[:2]
    channels = picture.shape[2] if picture.ndim == 3 else 1
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0], rows[:, 1:] = 0, np.ascontiguousarray(picture).reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)) + chunk(b"IEND", b"")


class _Kept:
    """What a frame needs of its simulation where that isn't, such as in another process."""

    def __init__(self, names: Dict[int, str], keys: List[str]) -> None:
        self._names, self._keys = names, keys

    def _key(self, id: int) -> str:
        return self._names[id]

    def _known_keys(self) -> List[str]:
        return self._keys

    def _id(self, key: str) -> int:
        if key not in self._keys:
            raise UnknownSensor(f"no sensor has {key!r}; there are: {', '.join(self._keys)}")
        return 0

    def _decode(self, id: int, data: Any) -> Any:
        return data


class Sim:
    """A run of the program, on the other side of its API. launch and connect make one."""

    def __init__(self, address: str, token: Optional[str] = None, sensors: Optional[Sequence[str]] = None, timeout: float = 10.0,
                 shared: int = 256 << 20) -> None:
        at = Address(address)
        token = token and token.strip()  # a file that has it ends with a line's end
        self._early: Dict[int, List[Bytes]] = {}
        self._taking: Optional[Dict[int, List[Bytes]]] = None
        self._left_out: Dict[int, int] = {}
        self._boxed: set[bytes] = set()  # models that a warning has told of
        self._decoders: Dict[int, Tuple[Stream, Decoder]] = {}
        self._wanted: Dict[str, int] = {}  # topics that were asked for, with the streams that they were
        self._names_of: Dict[int, str] = {}  # keys of streams, of former ones too
        self._coming: List[Tuple[Actor, bytes]] = []
        self._going: List[Union[int, str]] = []
        self._names = 0
        self._rest: Optional[Fraction] = None  # of a nanosecond, by which the steps up to now end early; None: none has left any
        self._timeout = timeout
        self.address = address
        self.time: Optional[int] = None  # of the last step's end, ns
        self.api = Api(at, token, timeout)
        weakref.finalize(self, self.api.close)
        self._stream = Connection(at, token, timeout, shared, self._take)
        try:
            self._learn()
            if sensors is None:
                self._subscribe("*")
            else:
                self._wanted = {self._stream.streams[self._id(key)].topic: 0 for key in sensors}
                self._learn()
            self._await_ready(timeout)
            taken = (re.search(r"-py(\d+)$", a["name"]) for a in self.api("GET", "/v1/actors")["actors"])
            self._names = max((int(number[1]) for number in taken if number), default=0)  # actors stay when their owner goes
            self.api.begun()
        except BaseException:
            self.close()
            raise

    # Streams

    def _take(self, stream: Stream, data: Bytes) -> None:
        taking = self._taking  # a step's end clears it
        if taking is not None:
            taking.setdefault(stream.id, []).append(data)
            return
        early = self._early.setdefault(stream.id, [])
        early.append(data)
        if self.time is None:
            del early[:-1]  # of a run that somebody else lets pass, the newest
        elif len(early) > _EARLY or len(early) > 1 and len(early) * len(data) > _EARLY_BYTES:
            del early[0]
            self._left_out[stream.id] = self._left_out.get(stream.id, 0) + 1

    def _subscribe(self, topic: str) -> None:
        self._stream.send(SUBSCRIBE, struct.pack("<H", len(topic.encode())) + topic.encode())

    def _learn(self) -> None:
        """Learn which sensors and outputs the topics are."""
        outputs = {}
        self._known = self._stream.changes
        for s in self.api("GET", "/v1/sensors")["sensors"]:
            for topic, output in zip(s["topics"], s["outputs"]):
                outputs[topic] = (s["name"], output)
        self._keys: Dict[str, int] = {}
        self.sensors: Mapping[str, Sensor]
        sensors = {}
        for id, s in sorted(dict(self._stream.streams).items()):
            if self._wanted.get(s.topic, id) != id:  # it is new, or came again
                self._wanted[s.topic] = id
                self._subscribe(s.topic)
            sensor, output = outputs.get(s.topic, ("", s.topic.strip("/")))
            key = f"{sensor}/{output}" if sensor else output
            self._keys[key] = id
            self._names_of[id] = key
            if sensor:
                sensors[key] = Sensor(key, sensor, output, s.sensor_type, s.topic, s.message, s.definition)
        self.sensors = sensors

    def _refresh(self) -> None:
        if self._known != self._stream.changes:
            self._learn()

    def _known_keys(self) -> List[str]:
        self._refresh()
        return sorted(self._keys)

    def _id(self, key: str) -> int:
        self._refresh()
        if key not in self._keys:
            raise UnknownSensor(f"no sensor has {key!r}; there are: {', '.join(self._known_keys())}")
        return self._keys[key]

    def _key(self, id: int) -> str:
        self._refresh()
        key = self._names_of.get(id)
        if key is None:  # it came and went before anybody asked
            s = self._stream.stream(id)
            key = self._names_of[id] = s.topic.strip("/") if s else str(id)
        return key

    def _decode(self, id: int, data: Bytes) -> Any:
        s, decode = self._decoders.get(id, (None, None))
        if decode is None or s is not self._stream.stream(id):
            s = self._stream.stream(id)
            assert s is not None
            decode = Decoder(s, self._key(id))
            self._decoders[id] = s, decode
        return decode(data)

    def _await_ready(self, timeout: float) -> None:
        end = clock.monotonic() + timeout
        while True:
            try:
                self.api("GET", "/readyz")
                return
            except Refused as e:
                if "has not begun" not in str(e):
                    return  # it has, and waits for somebody who is to receive its data
                if clock.monotonic() > end:
                    raise Timeout(f"the run has not begun within {timeout} s: {e}") from e
            clock.sleep(0.01)

    # Actors

    def spawn(self, model: str, x: float = 0.0, y: float = 0.0, z: float = 0.0, yaw: float = 0.0, *, name: str = "",
              pose: Optional[Pose] = None, size: Optional[Vector] = None, reference: str = "ground_centre", on_ground: bool = False,
              color: Optional[str] = None) -> Actor:
        """Let an actor come at the beginning of the next step.

        An unknown model is a box of that size (length, width, height). reference is the point that
        the actor's poses are of: ground_centre, box_centre, rear_axle or front_bumper. on_ground
        puts it on the ground, whatever z says. color is that of its paint in sRGB, such as "#1e90ff";
        without it the model has its own.
        """
        if not name:
            self._names += 1
            name = f"{model}-py{self._names}"
        if reference not in _REFERENCES:
            raise Refused(f"reference {reference!r}: want {', '.join(_REFERENCES)}", "value")
        spec = _part(1, _text("name", name)) + _part(2, _text("model", model)) + bytes((0x20, _REFERENCES[reference], 0x28, on_ground))
        if size is not None:
            spec += _part(3, struct.pack("<3d", *_numbers("size", size, 3)))
        if color is not None:
            if not isinstance(color, str) or not re.fullmatch("#[0-9a-fA-F]{6}", color):
                raise Refused(f"color {color!r}: want #rrggbb", "value")
            spec += b"\x38" + varint(int(color[1:], 16))
        actor = Actor(self, name, model)
        self._coming.append((actor, spec + _part(6, _state(pose if pose is not None else Pose(x, y, z, yaw)))))
        return actor

    def _remove(self, actor: Actor) -> None:
        before = len(self._coming)
        self._coming = [c for c in self._coming if c[0] is not actor]
        if before == len(self._coming) and actor.handle is not None:
            self._going.append(actor.handle)
            actor.handle = None

    def remove(self, actor: Union[Actor, SupportsIndex, str]) -> None:
        """Let an actor go with the next step: one of ours, a handle or a name."""
        if isinstance(actor, Actor):
            self._remove(actor)
        else:
            self._going.append(_ref(actor))

    # Time

    def step(self, duration: Union[None, str, float, Fraction, decimal.Decimal] = None,
             actors: Optional[Mapping[Union[Actor, int, str], Pose]] = None, *, until: Optional[int] = None, ego: Optional[Pose] = None,
             complete: bool = False, wait: str = "delivered", signals: Optional[Mapping[Union[SupportsIndex, str], str]] = None) -> Frame:
        """Let time pass, and return what the sensors saw.

        duration is in seconds; or until is a time in ns. A duration may be a fraction, such as "1/30":
        steps of it end where a sensor of 30 Hz is due, without rounding that adds up. The float nearest to
        it counts as the fraction. actors says where somebody is at the step's end, on the way there from
        where they are. Actors that are not named stay, or leave with complete. ego moves the vehicle that carries
        the sensors. signals says what traffic lights show, by their names or ids: red, yellow, green or off,
        until they are told others. The step returns when all that was due is here; wait="captured" or "none"
        returns earlier. Refused changes nothing. After Unfinished the frame was applied.
        """
        if (duration is None) == (until is None):
            raise Refused("a step needs a duration or until, one of them", "value")
        rest: Optional[Fraction] = None
        if until is not None:
            end = _whole(until, f"until {until!r}: want whole nanoseconds", "time")
            if not 0 < end < 1 << 63:
                raise Refused(f"until {end} ns: want a time that is to come", "time")
            out = b"\x09" + struct.pack("<q", end)
        else:
            ns, rest = self._to_whole(_nanoseconds(duration))
            out = b"\x11" + struct.pack("<q", ns)
        frame = self._step(out, actors, ego, complete, wait, signals)
        self._rest = rest
        return frame

    def step_to(self, key: str, actors: Optional[Mapping[Union[Actor, int, str], Pose]] = None, *, ego: Optional[Pose] = None,
                complete: bool = False, wait: str = "delivered", signals: Optional[Mapping[Union[SupportsIndex, str], str]] = None) -> Frame:
        """Let time pass up to the next firing of a sensor, of which key is an output or the name.

        The frame has what it saw then. All else is as with step.
        """
        self._refresh()
        known = self.sensors.get(key)
        if known is None and key not in {s.sensor for s in self.sensors.values()}:
            raise UnknownSensor(f"no sensor has {key!r}; there are: {', '.join(sorted(self.sensors))}")
        return self._step(_part(10, _text("sensor", known.sensor if known else key)), actors, ego, complete, wait, signals)

    def _to_whole(self, exact: Fraction) -> Tuple[int, Optional[Fraction]]:
        """Return the whole nanoseconds of a step, and what is left for the next ones.

        Where a step before has left nothing, time may stand where another such step would have ended.
        """
        if exact.denominator == 1 and not self._rest:
            return exact.numerator, None
        rest = self._rest
        if rest is None:
            now = self._now()
            rest = -(-now // exact) * exact - now
            if rest >= 1:
                rest = Fraction(0)
        ns = math.floor(exact + rest)
        return ns, exact + rest - ns

    def _now(self) -> int:
        """Where time stands, ns."""
        if self.time is None:  # no step has told
            time = self.status()["time"]
            return int(time["sec"] * 10**9 + time["nanosec"])
        return self.time

    def _step(self, end: bytes, actors: Any, ego: Optional[Pose], complete: bool, wait: str, signals: Any) -> Frame:
        """Make the step that ends so."""
        if wait not in _WAITS:
            raise Refused(f"wait {wait!r}: want {', '.join(_WAITS)}", "value")
        coming, going, before = self._coming, self._going, self._rest
        payload = end + self._moves(actors, ego, signals) + bytes((0x30, complete, 0x40, _WAITS[wait]))
        self._taking, self._early, self._rest = self._early, {}, None
        frame = Frame(self, self._taking)
        arrived = self._taking
        try:
            result = self._call(payload)
        finally:
            self._taking = None
        failure = self._answer(frame, result, coming)
        if failure is not None:
            self._early = arrived  # it comes with the next step
            if not failure.get(7):
                self._rest = before
                self._refuse(failure, coming)
        self._coming = [c for c in self._coming if c not in coming]
        self._going = self._going[len(going):] if self._going is going else self._going
        if failure is not None:
            raise Unfinished(*_why(failure))
        left_out, self._left_out = self._left_out, {}
        for id, n in left_out.items():
            frame.missing[self._key(id)] = f"{n} samples that came between steps were left out: step more often or wait for them"
        return frame

    def _moves(self, actors: Any, ego: Optional[Pose], signals: Any) -> bytes:
        """Who comes, goes and moves in a step, and what lights show."""
        out = bytearray()
        for _, spec in self._coming:
            out += _part(3, spec)
        for ref in self._going:
            out += _part(4, _who(ref))
        if not isinstance(actors, (AbstractMapping, type(None))):
            raise Refused(f"actors {actors!r}: want a mapping of actors to poses", "value")
        if not isinstance(signals, (AbstractMapping, type(None))):
            raise Refused(f"signals {signals!r}: want a mapping of traffic lights to states", "value")
        for who, pose in (actors or {}).items():
            ref = _ref(who)
            flags, values = _values(pose)
            if flags == 0 and isinstance(ref, int) and len(pose.joints) == 0:
                out += _ACTOR.pack(0x2a, 63, 0x1d, ref, 0x12, 56, *values)
            else:
                out += _part(5, _state(pose) + _who(ref))
        if ego is not None:
            out += _part(7, _state(ego))
        for light, state in (signals or {}).items():
            out += _part(9, _signal(light, state))
        return bytes(out)

    def _call(self, payload: bytes) -> bytes:
        try:
            return self._stream.step(payload)
        except Closed as e:
            raise Closed(self._epitaph(str(e))) from None

    def _epitaph(self, text: str) -> str:
        """Say what is known of a program's end."""
        return text

    def _answer(self, frame: Frame, result: bytes, coming: List[Tuple[Actor, bytes]]) -> Optional[Dict[int, Any]]:
        """Take a StepResult over into a frame, and return its failure if it has one."""
        failure: Optional[Dict[int, Any]] = None
        for field, value in proto_fields(result):
            if field == 1:
                frame.time = self.time = struct.unpack("<q", value)[0]
            elif field == 2:
                frame.number = value
            elif field == 3:
                for (actor, _), handle in zip(coming, struct.unpack(f"<{len(value) // 4}I", value)):
                    actor.handle = handle
            elif field == 4:
                frame._count(dict(proto_fields(value)))
            elif field == 5:
                frame.ego = _ego(dict(proto_fields(value)))
            elif field == 6:
                failure = dict(proto_fields(value))
                if _why(failure)[1] == "ended":
                    raise Closed(self._epitaph(_why(failure)[0]))
            elif field == 7 and len(self._boxed) < 100 and value not in self._boxed:
                self._boxed.add(value)
                warnings.warn(f"model {value.decode()!r} is shown as a box: the scene has none of that name, or none nearly as long as the actor; "
                              "sim.models lists them, and \"box\" is a box on purpose", stacklevel=3)
        return failure

    def _refuse(self, failure: Dict[int, Any], coming: List[Tuple[Actor, bytes]]) -> None:
        text, kind = _why(failure)
        where, index = failure.get(3, b"").decode(), failure.get(4, 0)
        if where == "spawn" and kind == "full":
            self._coming = coming[:index]  # from there on nobody has room
        elif where == "spawn" and index < len(coming):
            self._coming = [c for i, c in enumerate(coming) if i != index]  # the others can come
        elif where == "remove" and index < len(self._going):
            del self._going[index]
        actor: object = failure.get(6, b"").decode() or struct.unpack("<I", failure.get(5, bytes(4)))[0] or None
        error = Busy if kind == "busy" else Refused
        raise error(text, kind, where, index if where else None, actor)

    def reset(self, seed: Optional[int] = None) -> None:
        """Take the run back to its beginning, with another seed of the sensors' noise, or the one that it has.

        What it publishes from then on is what a fresh run of that seed would. Actors that came are gone, and the
        sensors are those of the beginning.
        """
        n = self.status()["seed"] if seed is None else _whole(seed, f"seed {seed!r}: want a whole number", "value")
        if not 0 <= n < 1 << 64:
            raise Refused(f"seed {n}: want 0 to 2^64 - 1", "value")
        failure = self._answer(Frame(self, {}), self._call(b"\x78" + varint(n)), [])
        if failure is not None:
            self._refuse(failure, [])
        self._early, self._left_out = {}, {}
        self._coming, self._going, self._names = [], [], 0
        self._rest = None
        self._learn()

    def read(self, key: str, timeout: float = 10.0) -> Any:
        """Wait for the next sample of a run that goes on by itself, and return it."""
        id, end = self._id(key), clock.monotonic() + timeout
        self._early.pop(id, None)
        self._left_out.pop(id, None)
        while id not in self._early:
            left = end - clock.monotonic()
            if left <= 0:
                raise Timeout(f"read {key}: nothing came within {timeout} s")
            self._stream.pump(left)
        return self._decode(id, self._early.pop(id)[-1])

    def pause(self) -> None:
        """Stop time."""
        self.api("POST", "/v1/pause")

    def resume(self) -> None:
        """Let time go on by itself, in a run that follows a clock."""
        self.api("POST", "/v1/resume")

    def status(self) -> Dict[str, Any]:
        """Return what the run did so far."""
        answer: Dict[str, Any] = self.api("GET", "/v1/status")
        return answer

    @property
    def weather(self) -> Weather:
        """The weather from the next step on. It is set to a preset, such as "fog", or to keys over one.

        sim.weather = {"preset": "rain", "rain": 8, "wind": (3, -1)}. Keys that are left out are the preset's, which is clear unless given.
        """
        keys: Dict[str, Any] = self.api("GET", "/v1/weather")
        wind = keys.pop("wind")
        return Weather(wind=(float(wind["x"]), float(wind["y"])), **{key: float(value) for key, value in keys.items()})

    @weather.setter
    def weather(self, to: Any) -> None:
        self.api("PUT", "/v1/weather", weather_keys(to))

    @property
    def shared(self) -> Dict[str, int]:
        """How many large messages were read in shared memory, and how many were copied since it was full or is not there."""
        return {"viewed": self._stream.viewed, "copied": self._stream.copied}

    @property
    def models(self) -> Dict[str, Model]:
        """The models that actors may have."""
        return {m["name"]: Model(tuple(m["size"]), m["paint"], {j["name"]: j["unit"] for j in m["joints"]})
                for m in self.api("GET", "/v1/models")["models"]}

    @property
    def actors(self) -> Dict[int, ActorState]:
        """Who is there and may move, by handles: those who came, and the scene's own traffic."""
        return {a["handle"]: ActorState(**{k: tuple(a[k]) if isinstance(a[k], list) else a[k] for k in ActorState._fields})
                for a in self.api("GET", "/v1/actors")["actors"]}

    @property
    def spawn_points(self) -> List[Pose]:
        """Places where actors may begin: in the city's lanes, those near the ego first, or a glTF file's nodes spawn_point."""
        points = self.api("GET", "/v1/spawn_points")["spawn_points"]
        return [Pose(p["position"][0], p["position"][1], p["position"][2], math.radians(p["yaw"])) for p in points]

    # The ego and its sensors

    def control(self, throttle: float = 0.0, brake: float = 0.0, steering: float = 0.0) -> None:
        """Drive the ego: pedals 0 to 1, and the wheel -1 to 1, right positive.

        It obeys where the configuration has ego.driver: external, and no step has moved it.
        """
        self.api("POST", "/v1/ego/control", {"throttle": throttle, "brake": brake, "steering": steering})

    def spawn_sensor(self, type: str, name: str, x: float = 0.0, y: float = 0.0, z: float = 0.0, yaw: float = 0.0, *, pitch: float = 0.0,
                     roll: float = 0.0, rate: Union[None, float, str] = None, attach_to: Union[None, Actor, SupportsIndex] = None,
                     **attributes: Any) -> List[str]:
        """Add a sensor to the run, on the ego or on an actor, and return the keys of its outputs.

        The actor has to be there: one that was spawned comes with the next step.
        """
        if isinstance(attach_to, Actor) and attach_to.handle is None:
            raise Refused(f"attach {name} to {attach_to.name}: the actor is not there: it comes with the next step after its spawn, so step first",
                          "unknown_actor", actor=attach_to.name)
        body: Dict[str, Any] = {
            "type": type, "name": name, "attributes": attributes,
            "pose": {"x": x, "y": y, "z": z, "yaw": math.degrees(yaw), "pitch": math.degrees(pitch), "roll": math.degrees(roll)},
        }
        if rate is not None:
            body["rate"] = rate
        if attach_to is not None:
            body["attach_to"] = _ref(attach_to)
        topics = set(self.api("POST", "/v1/sensors", body)["topics"])
        end = clock.monotonic() + self._timeout
        while not topics <= {s.topic for s in list(self._stream.streams.values())}:
            left = end - clock.monotonic()
            if left <= 0:
                raise Timeout(f"the streams of sensor {name} did not come within {self._timeout} s")
            self._stream.pump(left)
        self._learn()
        return [s.key for s in self.sensors.values() if s.topic in topics]

    def remove_sensor(self, name: str) -> None:
        """End a sensor."""
        self._refresh()
        topics = {s.topic for s in self.sensors.values() if s.sensor == name}
        self.api("DELETE", "/v1/sensors/" + urllib.parse.quote(name, ""))
        end = clock.monotonic() + self._timeout
        while topics & {s.topic for s in list(self._stream.streams.values())}:
            left = end - clock.monotonic()
            if left <= 0:
                raise Timeout(f"the streams of sensor {name} did not end within {self._timeout} s")
            self._stream.pump(left)
        self._learn()

    # Life

    def close(self) -> None:
        """End the connection. It may be called again."""
        self._stream.close()
        self.api.close()

    def __enter__(self) -> "Sim":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(address: str, *, token: Optional[str] = None, sensors: Optional[Sequence[str]] = None, timeout: float = 10.0,
            shared: int = 256 << 20) -> Sim:
    """Connect to a run with --api: HOST:PORT or unix:PATH.

    sensors are the keys of those whose data is wanted, None for all. shared is how many bytes of
    memory are shared with a program on a UNIX socket, 0 for none.
    """
    return Sim(address, token, sensors, timeout, shared)


__all__ = ["Actor", "ActorState", "Ego", "Frame", "Model", "Pose", "Sensor", "Sim", "connect", "png"]
