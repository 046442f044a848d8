"""A connection to a run's API: docs/stream-protocol.md in Python."""
from __future__ import annotations

import collections
import http.client
import json
import mmap
import os
import select
import socket
import struct
import threading
import weakref
from typing import Any, IO, Callable, Deque, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._errors import Closed, ConnectionFailed, Error, Refused, Timeout, VersionMismatch

VERSION = 2
_GREETING = struct.Struct("<8sHHI")
_FRAME = struct.Struct("<IHBBII")
_PLACE = struct.Struct("<QQ")
_SHARED = 2
_LONGEST_TABLE = 16 << 20
ALIVE, STREAM, ANSWER, LOSSES, BYE, SUBSCRIBE, UNSUBSCRIBE, STEP, STEP_RESULT, RING, RELEASE, GONE = range(1, 13)
_PATIENCE = 5  # beats without a frame
_ANSWER = 10.0  # seconds that a program which has begun may take to answer a request
_LARGE = 16 << 10  # bytes of a message that comes through shared memory, where the program doesn't say

Bytes = npt.NDArray[np.uint8]


def _readable(s: socket.socket, wait: float) -> bool:
    """Wait so many seconds for something to read. select would refuse descriptors above 1023."""
    poll = select.poll()
    poll.register(s, select.POLLIN)
    return bool(poll.poll(wait * 1000))


LONGEST_PATH = 107  # bytes of a UNIX socket's path: unix(7)


class Address:
    """HOST:PORT, http://HOST:PORT or unix:PATH."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.path = ""
        self.host, self.port = "localhost", 0
        if text.startswith("unix:"):
            self.path = text[len("unix:"):]
            size = len(os.fsencode(self.path))
            if size > LONGEST_PATH:
                raise ConnectionFailed(f"address {text!r}: the path has {size} bytes, a UNIX socket's {LONGEST_PATH} at most")
            return
        host, colon, port = (text[len("http://"):] if text.startswith("http://") else text).rstrip("/").rpartition(":")
        if not colon or not port.isdigit():
            raise ConnectionFailed(f"address {text!r}: want HOST:PORT or unix:PATH")
        self.host, self.port = host.strip("[]") or "127.0.0.1", int(port)

    def open(self, timeout: float) -> socket.socket:
        """Open a connection."""
        try:
            if self.path:
                s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                s.settimeout(timeout)
                try:
                    s.connect(self.path)
                except BaseException:
                    s.close()
                    raise
            else:
                s = socket.create_connection((self.host, self.port), timeout)
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return s
        except OSError as e:
            raise ConnectionFailed(f"connect to {self.text}: {e.strerror or e}: is a run with --api there?") from e

    @property
    def header(self) -> str:
        """What the header Host says."""
        if self.path:
            return "localhost"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Api:
    """The requests in JSON, on a connection of their own."""

    def __init__(self, address: Address, token: Optional[str], timeout: float) -> None:
        self._address, self._token, self._timeout = address, token, timeout
        self._connection: Optional[http.client.HTTPConnection] = None
        self._lock = threading.Lock()

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return what it is answered with."""
        with self._lock:
            for attempt in (1, 2):
                fresh = self._connection is None
                try:
                    return self._ask(method, path, body)
                except (http.client.HTTPException, OSError) as e:
                    self.close()
                    if isinstance(e, socket.timeout):
                        raise Timeout(f"{method} {path}: no answer within {self._timeout} s") from e
                    if fresh or attempt == 2 or method == "POST":
                        raise Closed(f"{method} {path}: {e}") from e
        raise AssertionError("not reached")

    def _ask(self, method: str, path: str, body: Any) -> Any:
        if self._connection is not None and _readable(self._connection.sock, 0):
            self.close()  # the program has ended a connection that rested
        if self._connection is None:
            c = http.client.HTTPConnection("localhost", timeout=self._timeout)
            c.sock = self._address.open(self._timeout)
            self._connection = c
        headers = {"Host": self._address.header}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        text: Optional[bytes] = None
        if body is not None:
            text, headers["Content-Type"] = json.dumps(body, default=_plain).encode(), "application/json"
        self._connection.request(method, path, text, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.will_close:
            self.close()
        try:
            value = json.loads(content or b"null")
        except ValueError as e:
            raise Error(f"{method} {path}: the answer is no JSON: {content[:80]!r}") from e
        if answer.status not in (200, 202):  # 202: a step that is not done yet
            why = value.get("error", content) if isinstance(value, dict) else content
            raise Refused(f"{why}", f"http_{answer.status}")
        return value

    def begun(self) -> None:
        """From now on answers come soon: a program that hangs is not waited for as one that begins is."""
        self._timeout = min(self._timeout, _ANSWER)
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _plain(value: Any) -> Any:
    """What JSON has for a number or an array of numpy."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise Refused(f"{value!r}: want a number, a text, a list or a dictionary", "value")


class Stream:
    """What the server says of a stream."""

    def __init__(self, id: int, flags: int, type_id: int, texts: List[str], definition: str) -> None:
        self.id, self.latched, self.type_id = id, bool(flags & 1), type_id
        self.topic, self.sensor, self.sensor_type, self.message, self.encoding, self.language = texts
        self.definition = definition


class _Fields:
    """Reads what a greeting or a control frame holds."""

    def __init__(self, b: bytes) -> None:
        self._b, self._at = b, 0

    def take(self, n: int) -> bytes:
        if self._at + n > len(self._b):
            raise Error("the program sent a frame that is too short")
        self._at += n
        return self._b[self._at - n:self._at]

    def number(self, form: str) -> int:
        value = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]
        assert isinstance(value, int)
        return value

    def text(self) -> str:
        return self.take(self.number("H")).decode("utf-8", "replace")

    def stream(self) -> Stream:
        id, flags, type_id = self.number("H"), self.number("H"), self.number("I")
        texts = [self.text() for _ in range(6)]
        return Stream(id, flags, type_id, texts, self.take(self.number("I")).decode("utf-8", "replace"))


def greeting(read: Callable[[int], bytes]) -> Tuple[int, float, List[Stream]]:
    """Read the program's greeting: the longest message, the beat in seconds, and the streams."""
    magic, version, status, length = _GREETING.unpack(read(_GREETING.size))
    if magic != b"RBSTREAM" or length > _LONGEST_TABLE:
        raise ConnectionFailed(f"the peer does not speak the stream protocol: it begins with {magic!r}")
    f = _Fields(read(length))
    reason = f.text()
    if version != VERSION:
        raise VersionMismatch(f"this package speaks version {VERSION} of the stream protocol, the program version {version}: {reason}")
    if status != 0:
        raise Refused(reason)
    f.number("H")
    longest, beat = f.number("I"), f.number("I") / 1000
    f.number("Q")
    return longest, beat, [f.stream() for _ in range(f.number("H"))]


class Pipe:
    """What a program writes in the stream protocol to a file that ends in a pipe."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._streams: Dict[int, Stream] = {}
        self._longest, _, known = greeting(self._read)
        self._streams.update((s.id, s) for s in known)

    def next(self) -> Union[None, Stream, Tuple[Stream, Bytes]]:
        """Return the next stream, or a message of one; None at the goodbye. Closed is an end before that."""
        while True:
            length, stream, flags, control, _, plain = _FRAME.unpack(self._read(_FRAME.size))
            if flags or length != plain or length > max(self._longest, _LONGEST_TABLE):
                raise Closed(f"the program sent a malformed frame of {length} bytes, flags {flags}")
            data = np.empty(length, np.uint8)
            self._fill(data.data)
            if stream in self._streams:
                return self._streams[stream], data
            if control == BYE:
                return None
            if control == STREAM:
                s = _Fields(data.tobytes()).stream()
                self._streams[s.id] = s
                return s

    def _read(self, n: int) -> bytes:
        b = bytearray(n)
        self._fill(memoryview(b))
        return bytes(b)

    def _fill(self, view: memoryview) -> None:
        while len(view) > 0:
            n = self._file.readinto(view)  # type: ignore[attr-defined]
            if not n:
                raise Closed("the program has ended")
            view = view[n:]


class Connection:
    """The stream protocol on one socket. One thread steps; another shows that we are there.

    message, a bound method, is called with each message that comes: its stream and its bytes, an
    array that is the callee's. Neither it nor the thread keeps its owner. stopped tells of a program that is silent
    whether it is stopped: such a one is waited for.
    """

    def __init__(self, address: Address, token: Optional[str], timeout: float, shared: int, message: Callable[[Stream, Bytes], None]) -> None:
        self._message, self._pid = weakref.WeakMethod(message), os.getpid()
        self.streams: Dict[int, Stream] = {}
        self.former: Dict[int, Stream] = {}  # those that have ended: messages of theirs may be on their way
        self.changes = 0  # how often streams came or went
        self.lost: Dict[str, int] = {}
        self.stopped: Callable[[], bool] = lambda: False
        self._failure: Optional[str] = None
        self._result: Optional[bytes] = None
        self._writing = threading.Lock()
        self._reading = threading.RLock()
        self._ending = threading.Event()
        self._head = bytearray(_FRAME.size)
        self._memory: Optional[mmap.mmap] = None
        self._least = _LARGE
        self._read_out: Deque[int] = collections.deque()
        self.viewed = self.copied = 0
        self._socket = address.open(timeout)
        try:
            self._upgrade(address, token)
            self._greet([])
            if address.path and shared:
                self._share(shared)
        except Error:
            self._socket.close()
            raise
        except socket.timeout as e:
            self._socket.close()
            raise Timeout(f"connect to {address.text}: no answer within {timeout} s") from e
        except OSError as e:
            self._socket.close()
            raise ConnectionFailed(f"connect to {address.text}: {e}") from e
        except BaseException:
            self._socket.close()
            raise
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(self._beat), int(self._beat % 1 * 1e6)))
        self._finish = weakref.finalize(self, _end, self._socket, self._ending, self._pid)
        self._alive = threading.Thread(target=_live, args=(weakref.ref(self), self._ending, self._beat / 2), name="raybridge", daemon=True)
        self._alive.start()

    def _upgrade(self, address: Address, token: Optional[str]) -> None:
        extra = f"Authorization: Bearer {token}\r\n" if token else ""
        self._socket.sendall((f"GET /v1/stream HTTP/1.1\r\nHost: {address.header}\r\nConnection: Upgrade\r\n"
                              f"Upgrade: raybridge-stream\r\n{extra}\r\n").encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            b = self._socket.recv(1)
            if not b or len(answer) > 16 << 10:
                raise ConnectionFailed(f"{address.text} is not a raybridge API: it answers {answer[:80]!r}")
            answer += b
        line, _, rest = answer.partition(b"\r\n")
        if b" 101 " not in line + b" ":
            length = [int(h.split(b":")[1]) for h in rest.lower().split(b"\r\n") if h.startswith(b"content-length:")]
            why = self._socket.recv(min(length[0], 4096)) if length and length[0] else b""
            raise ConnectionFailed(f"{address.text} refuses: {line.decode('latin-1')} {why.decode('utf-8', 'replace').strip()}")

    def _greet(self, streams: List[str]) -> None:
        names = b"".join(struct.pack("<H", len(n)) + n for n in (s.encode() for s in streams))
        self._socket.sendall(_GREETING.pack(b"RBSTREAM", VERSION, 0, 2 + len(names)) + struct.pack("<H", len(streams)) + names)
        self.longest, self._beat, known = greeting(self._read)
        for s in known:
            self._add(s)

    def _add(self, s: Stream) -> None:
        self.former.pop(s.id, None)
        self.streams[s.id] = s
        self.changes += 1

    def _news(self, control: int, f: _Fields) -> None:
        """Take what the program says of its streams."""
        if control == STREAM:
            self._add(f.stream())
        elif control == GONE:
            id = f.number("H")
            if id in self.streams:
                self.former[id] = self.streams.pop(id)
                self.changes += 1

    def stream(self, id: int) -> Optional[Stream]:
        """The stream with an id, also one that has ended whose id no other has."""
        return self.streams.get(id) or self.former.get(id)

    def _share(self, size: int) -> None:
        """Ask for shared memory, in which large messages are read without a copy. Without it they are copied."""
        self.send(RING, struct.pack("<Q", size))
        files: List[int] = []

        def take(n: int) -> bytes:
            data = b""
            while len(data) < n:
                part, more, _, _ = socket.recv_fds(self._socket, n - len(data), 1)
                files.extend(more)
                if not part:
                    raise Closed("the program closed the connection")
                data += part
            return data

        try:
            while True:
                length, _, _, control, _, _ = _FRAME.unpack(take(_FRAME.size))
                f = _Fields(take(length) if length else b"")
                if control == BYE:
                    f.number("H")
                    raise Closed(f.text())
                self._news(control, f)
                if control == RING:
                    break
            status, _ = f.number("H"), f.text()
            if status == 0 and files:
                self._memory = mmap.mmap(files[0], f.number("Q"), mmap.MAP_SHARED, mmap.PROT_READ)
                self._least = f.number("I")
        finally:
            for file in files:
                os.close(file)

    def _view(self, at: int, size: int) -> Bytes:
        """Return a message in shared memory. It stays there until the array and its views are gone."""
        assert self._memory is not None
        data: Bytes = np.frombuffer(self._memory, np.uint8, size, at)
        weakref.finalize(data, self._read_out.append, at).atexit = False
        self.viewed += 1
        return data

    def release(self) -> None:
        """Give back what was read in shared memory."""
        places: List[int] = []
        try:
            while len(places) < 4096:
                places.append(self._read_out.popleft())
        except IndexError:  # empty; another thread may take from it, too
            pass
        if places:
            self.send(RELEASE, struct.pack(f"<{len(places)}Q", *places))

    def _read(self, n: int) -> bytes:
        b = bytearray(n)
        self._fill(memoryview(b))
        return bytes(b)

    def _fill(self, view: memoryview) -> None:
        """Read until the memory is full."""
        silent = 0  # beats in which nothing came from a program that wasn't stopped
        while len(view) > 0:
            try:
                n = self._socket.recv_into(view, 0, socket.MSG_WAITALL)
            except BlockingIOError:
                silent += not self.stopped()
                if silent >= _PATIENCE:
                    raise Closed(f"the program was silent for {_PATIENCE * self._beat:g} s") from None
                continue
            if n == 0:
                raise Closed("the program closed the connection")
            view, silent = view[n:], 0

    def rest(self) -> bool:
        """Show that we are there, and take what comes while nobody steps. False if the connection has ended."""
        try:
            self.send(ALIVE, b"")
            self.release()
            if self._reading.acquire(blocking=False):
                try:
                    while self._failure is None and _readable(self._socket, 0):
                        self._receive()
                finally:
                    self._reading.release()
        except Exception as e:
            self._fail(e)
        return self._failure is None

    def _fail(self, e: BaseException) -> None:
        """End the connection, so that the program knows. A frame may be half read."""
        if self._failure is None:
            if isinstance(e, Error):
                self._failure = str(e)
            elif isinstance(e, OSError):
                self._failure = f"the connection broke: {e.strerror or e}"
            else:
                self._failure = f"the connection was interrupted ({e!r}): connect again"
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def check(self) -> None:
        """Raise what has ended the connection, if it has ended."""
        if self._pid != os.getpid():
            raise Closed("the simulation belongs to the process that connected: connect again after a fork")
        if self._failure is not None:
            raise Closed(self._failure)

    def send(self, control: int, payload: bytes) -> None:
        """Send a control frame."""
        try:
            with self._writing:
                self._socket.sendall(_FRAME.pack(len(payload), 0, 0, control, 0, len(payload)) + payload)
        except OSError as e:
            self._fail(e)
            self.check()

    def step(self, payload: bytes) -> bytes:
        """Send a Step, take what comes, and return its StepResult."""
        with self._reading:
            self.check()
            self._result = None
            try:
                self.release()
                self.send(STEP, payload)
                while self._result is None:
                    self._receive()
                return self._result
            except BaseException as e:  # an interrupt too
                self._fail(e)
                if isinstance(e, OSError) and not isinstance(e, Error):
                    raise Closed(f"the connection broke: {e}") from e
                raise

    def pump(self, wait: float) -> bool:
        """Take one frame; False if none comes in that time."""
        with self._reading:
            self.check()
            if not _readable(self._socket, wait):
                return False
            try:
                self._receive()
            except BaseException as e:
                self._fail(e)
                if isinstance(e, OSError) and not isinstance(e, Error):
                    raise Closed(f"the connection broke: {e}") from e
                raise
            return True

    def _receive(self) -> None:
        """Take one frame."""
        self._fill(memoryview(self._head))
        length, stream, flags, control, _, plain = _FRAME.unpack(self._head)
        if flags & ~_SHARED or length != plain or length > max(self.longest, _LONGEST_TABLE):
            raise Closed(f"the program sent a malformed frame of {length} bytes, flags {flags}")
        if stream:
            data: Bytes
            if flags:
                data = self._view(*_PLACE.unpack(self._read(length)))
            else:
                data = np.empty(length, np.uint8)
                self._fill(data.data)
                self.copied += length >= self._least
            known = self.stream(stream)
            take = self._message()
            if known is not None and take is not None:
                take(known, data)
            return
        payload = self._read(length) if length else b""
        if control == STEP_RESULT:
            self._result = payload
        elif control in (STREAM, GONE):
            self._news(control, _Fields(payload))
        elif control == LOSSES:
            f = _Fields(payload)
            for _ in range(f.number("H")):
                name = f.text()
                self.lost[name] = f.number("Q")
                f.number("B")
        elif control == BYE:
            f = _Fields(payload)
            f.number("H")
            raise Closed(f.text())

    def close(self) -> None:
        """End the connection."""
        if self._pid == os.getpid():
            self._fail(Closed("the simulation was closed"))
            self._ending.set()
            if threading.current_thread() is not self._alive:
                self._alive.join(2)
        self._finish()


def _live(connection: "weakref.ref[Connection]", ending: threading.Event, every: float) -> None:
    """Let a connection rest until it ends or nobody has it."""
    while not ending.wait(every):
        c = connection()
        if c is None or not c.rest():
            return
        del c


def _end(s: socket.socket, ending: threading.Event, pid: int) -> None:
    """End what a connection leaves behind. After a fork the parent's stays."""
    if pid == os.getpid():
        ending.set()
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
    s.close()


def varint(n: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def proto_fields(b: bytes) -> Iterator[Tuple[int, Any]]:
    """Walk over the fields of a protobuf message: their numbers with an int or bytes."""
    at, end = 0, len(b)

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            if at >= end or shift > 63:
                raise Error("the program sent half a message")
            byte = b[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while at < end:
        tag = number()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, number()
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise Error(f"the program sent a field of kind {kind}")
            size = number()
        if at + size > end:
            raise Error("the program sent half a message")
        at += size
        yield tag >> 3, b[at - size:at]
