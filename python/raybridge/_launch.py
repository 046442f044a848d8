"""Starts the program."""
from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
import weakref
from typing import IO, Any, List, Mapping, Optional, Sequence, Set, Union

from ._errors import Closed, ConnectionFailed, Error, Refused
from ._sim import Sim, Weather, weather_keys
from ._wire import LONGEST_PATH, Address

_WRONG_USE = 2  # exit code of a wrong scene, rig, configuration or argument
_CLOSE = 130  # seconds; the program allows itself 120 to finish its recording


# Where a socket may be: the folder for temporary files, and shorter ones where that is too long.
_PLACES = (None, os.environ.get("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp")


def _socket_folder() -> str:
    """Make a folder of mode 0700, the path of whose socket `api` isn't too long."""
    for place in _PLACES:
        try:
            folder = tempfile.mkdtemp(prefix="raybridge-", dir=place or None)
        except OSError:
            if place is None:
                raise
            continue
        if len(os.fsencode(os.path.join(folder, "api"))) <= LONGEST_PATH:
            return folder
        os.rmdir(folder)
    raise Error(f"{tempfile.gettempdir()} is too long for a UNIX socket in it: set TMPDIR to a folder whose path is shorter, "
                f"{LONGEST_PATH} bytes at most with the socket's")


def binary() -> str:
    """Return where the program is: RAYBRIDGE_BINARY, the wheel's, or one on PATH."""
    named = os.environ.get("RAYBRIDGE_BINARY")
    if named:
        return named
    own = os.path.join(sysconfig.get_path("scripts"), "raybridge")
    if os.access(own, os.X_OK):
        return own
    found = shutil.which("raybridge")
    if found is None:
        raise Error("the program raybridge is not found: install the wheel that has it, set RAYBRIDGE_BINARY, or put it on PATH")
    return found


class Launched(Sim):
    """A simulation whose program ends with it."""

    def __init__(self, command: Sequence[str], folder: str, sensors: Optional[Sequence[str]], timeout: float, shared: int) -> None:
        self._log = open(os.path.join(folder, "stderr"), "w+b")
        self._program: Optional[subprocess.Popen[bytes]] = None
        try:
            read, lifeline = os.pipe()  # neither is inherited by other programs
            _lifelines.add(lifeline)
            try:
                # In a session of its own a terminal's Ctrl-C leaves it to us: two interrupts would cut its recording.
                self._program = subprocess.Popen(command, stdin=read, stdout=subprocess.DEVNULL, stderr=self._log, start_new_session=True)
            except OSError as e:
                raise ConnectionFailed(f"start {command[0]}: {e.strerror}") from e
            finally:
                os.close(read)
                self._finish = weakref.finalize(self, _end, self._program, self._log, folder, lifeline, os.getpid())
            path = os.path.join(folder, "api")
            end = time.monotonic() + timeout
            while not self._listens(path):
                if self._program.poll() is not None:
                    raise self._end_of(self._epitaph("the program has ended before it began"))
                if time.monotonic() > end:
                    raise ConnectionFailed(self._epitaph(f"the program is not there after {timeout} s"))
                time.sleep(0.005)
            try:
                super().__init__("unix:" + path, None, sensors, max(1.0, end - time.monotonic()), shared)
                self._stream.stopped = functools.partial(_stopped, self._program.pid)
            except (Closed, ConnectionFailed) as e:
                text = self._epitaph(str(e), 5)  # a connection that it has cut was cut by its end, mostly
                raise (type(e)(text) if self._program.poll() is None else self._end_of(text)) from None
        except BaseException:
            self._finish()
            raise

    @staticmethod
    def _listens(path: str) -> bool:
        try:
            Address("unix:" + path).open(1).close()
        except ConnectionFailed:
            return False
        return True

    def _epitaph(self, text: str, patience: float = 0.5) -> str:
        """The text with the program's end, if that comes within so many seconds, and its last words."""
        program = self._program
        if program is None:
            return text
        try:
            code = program.wait(patience)
            text += f"; it ended with {'signal ' + signal.Signals(-code).name if code < 0 else 'exit code ' + str(code)}"
        except subprocess.TimeoutExpired:
            pass
        self._log.seek(0)
        said = self._log.read()[-2000:].decode("utf-8", "replace").strip()
        return f"{text}:\n{said}" if said else text

    def _end_of(self, text: str) -> Error:
        """The error of a program that has ended before it began."""
        wrong = self._program is not None and self._program.poll() == _WRONG_USE
        return Refused(text, "value") if wrong else Closed(text)

    def close(self) -> None:
        """End the simulation and the program. It may be called again."""
        if hasattr(self, "_stream"):
            super().close()
        self._program = None
        self._finish()


def _stopped(pid: int) -> bool:
    """Whether a program is stopped, as by SIGSTOP or a debugger."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:  # it has ended
        return False


# The ends of pipes whose other ends are the input of programs. Each is held by one process alone, so that its program
# ends with it, even by SIGKILL.
_lifelines: Set[int] = set()


def _let_go() -> None:
    """Leave the programs to the parent, in a fork."""
    while _lifelines:
        os.close(_lifelines.pop())


os.register_at_fork(after_in_child=_let_go)


def _end(program: "Optional[subprocess.Popen[bytes]]", log: IO[bytes], folder: str, lifeline: int, pid: int) -> None:
    """End a program that a simulation leaves behind. After a fork it is the parent's."""
    if pid != os.getpid():
        return
    try:
        if program is not None:
            program.send_signal(signal.SIGINT)
            program.wait(_CLOSE)
    except subprocess.TimeoutExpired:
        pass
    finally:  # after an interrupt, too
        if program is not None:
            program.kill()
            program.wait()
        _lifelines.discard(lifeline)
        os.close(lifeline)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _weather_arguments(to: Union[None, str, Mapping[str, Any], Weather]) -> List[str]:
    """What raybridge run takes for a weather. All that it leaves out is its preset's, not the configuration's."""
    if to is None:
        return []
    keys = weather_keys(to)
    if not keys or keys.get("preset") == "":
        raise Refused(f"weather {to!r}: want a preset, or keys over one", "value")
    wind = keys.pop("wind", {})
    arguments = ["--weather", str(keys.pop("preset", "clear"))]
    for key, value in [*keys.items(), *(("wind." + axis, x) for axis, x in wind.items())]:
        arguments += ["--set", f"weather.{key}={value}"]
    return arguments


def launch(scene: Optional[str] = None, rig: Union[None, str, Mapping[str, Any]] = None, *, config: Optional[str] = None,
           seed: Optional[int] = None, gpu: Optional[str] = None, args: Sequence[str] = (), sensors: Optional[Sequence[str]] = None,
           timeout: float = 60.0, shared: int = 256 << 20, out: Optional[str] = None, weather: Union[None, str, Mapping[str, Any], Weather] = None) -> Sim:
    """Start the program, paused, and connect to it. It ends with the simulation, and with this process.

    scene and rig are those of raybridge run; a rig may be a dictionary in place of a file. args are
    more arguments of raybridge run. out is the folder for recordings, which stay; None is that of
    raybridge run, out in the working directory. sensors are the keys of those whose data is wanted, None for
    all. weather is that of the beginning, as sim.weather takes it: a preset, keys over one, or a Weather. timeout is how long the
    program may take to begin, in seconds. shared is how many bytes of memory are shared with the program, 0 for none. A step
    waits as long as the program is stopped, such as in a debugger.
    """
    program = binary()
    folder = _socket_folder()
    try:
        command = [program, "run", "--step", "--paused", "--quiet", "--end-with-input", "--api", "unix:" + os.path.join(folder, "api")]
        if rig is not None and not isinstance(rig, str):
            path = os.path.join(folder, "rig.yaml")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(rig, f)  # JSON is YAML
            rig = path
        for flag, value in (("--scene", scene), ("--rig", rig), ("--config", config), ("--seed", seed), ("--gpu", gpu), ("--out", out)):
            if value is not None:
                command += [flag, str(value)]
        command += _weather_arguments(weather)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Launched([*command, *args], folder, sensors, timeout, shared)
