"""Runs variations of a drive, through the program."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import weakref
from typing import IO, Any, Dict, List, NamedTuple, Optional, Sequence, Union

from ._errors import Closed, ConnectionFailed, Error, Refused
from ._launch import _lifelines, binary

_CLOSE = 30  # seconds; running cases end within five


class Case(NamedTuple):
    """A case of a sweep that has ended.

    settings has what is varied: keys of the sweep file with this case's values. seed is the run's. A case that is done
    has metrics, all those of the run's summary that have a value, and a folder, whose outputs hold the files that it
    wrote. One that failed for good has neither, but an error.
    """

    id: str
    settings: Dict[str, Any]
    seed: int
    metrics: Dict[str, float]
    folder: Optional[str]
    error: Optional[str]


class Sweep:
    """The cases of a sweep, those that have ended before first, then each when it ends.

    It is an iterator, and ends the program that runs them when it is closed, used up or forgotten. What is done stays.
    """

    def __init__(self, command: Sequence[str]) -> None:
        folder = tempfile.mkdtemp(prefix="raybridge-")
        self._log = open(os.path.join(folder, "stderr"), "w+b")
        read, lifeline = os.pipe()  # neither is inherited by other programs
        _lifelines.add(lifeline)
        try:
            # In a session of its own a terminal's Ctrl-C leaves it to us.
            self._program = subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True)
        except BaseException as e:
            _let_go(self._log, folder, lifeline)
            if isinstance(e, OSError):
                raise ConnectionFailed(f"start {command[0]}: {e.strerror}") from e
            raise
        finally:
            os.close(read)
        self._finish = weakref.finalize(self, _end, self._program, self._log, folder, lifeline, os.getpid())
        assert self._program.stdout is not None
        self._lines: Optional[IO[bytes]] = self._program.stdout
        self._failed = False

    def __iter__(self) -> "Sweep":
        return self

    def __next__(self) -> Case:
        """Return the next case that has ended. At the end, raise what the program says is wrong."""
        if self._lines is None:
            raise StopIteration
        line = self._lines.readline()
        if not line.endswith(b"\n"):
            self._lines = None
            self._conclude()
            raise StopIteration
        case = json.loads(line)
        error = None
        if case["state"] != "done":
            self._failed = True
            error = case.get("reason", "")
        return Case(case["case"], case["settings"], case["seed"], case.get("metrics", {}), case.get("dir"), error)

    def _conclude(self) -> None:
        """Tell what the program says at its end."""
        code = self._program.wait()
        self._log.seek(0)
        said = self._log.read().decode("utf-8", "replace").strip()
        self.close()
        text = said.rpartition("raybridge: ")[2] or f"the program ended with exit code {code}"
        if code == 0 or code == 1 and self._failed and "differ" not in text:  # the cases say that they failed
            return
        if code == 2:
            raise Refused(text, "value")
        if code == 4:
            raise Closed(text)
        if code < 0:
            raise Closed(f"the program was ended by {signal.Signals(-code).name}: the next sweep into the folder continues it")
        raise Error(text)

    def close(self) -> None:
        """End it. It may be called again."""
        self._lines = None
        self._finish()

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(program: "subprocess.Popen[bytes]", log: IO[bytes], folder: str, lifeline: int, pid: int) -> None:
    """End the program that runs the cases. After a fork it is the parent's."""
    if pid != os.getpid():
        return
    try:
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=_CLOSE)  # it may be writing what nobody reads any more
    except subprocess.TimeoutExpired:
        pass
    finally:  # after an interrupt, too
        program.kill()
        program.wait()
        if program.stdout is not None:
            program.stdout.close()
        _let_go(log, folder, lifeline)


def _let_go(log: IO[bytes], folder: str, lifeline: int) -> None:
    """Remove what a sweep has beside its program."""
    _lifelines.discard(lifeline)
    os.close(lifeline)
    log.close()
    shutil.rmtree(folder, ignore_errors=True)


def sweep(file: Union[None, str, "os.PathLike[str]"] = None, out: Union[None, str, "os.PathLike[str]"] = None, *, jobs: Optional[int] = None,
          extend: bool = False, timeout: Optional[float] = None, args: Sequence[str] = ()) -> Sweep:
    """Run the cases of a sweep file, as raybridge sweep run does, and iterate over them as they end.

    out is the folder that says what is done: a sweep into it again continues. None is out/sweep in the working
    directory. Without a file, the cases are those of the plan that the folder has. jobs is how many cases run at a time,
    None half as many as there are cores. extend continues a folder that has another plan of this sweep. timeout is how
    many seconds a case may take. args are more arguments of raybridge sweep run.
    """
    command: List[str] = [binary(), "sweep", "run", "--json", "--quiet", "--end-with-input"]
    if out is not None:
        command += ["--out", os.fspath(out)]
    if jobs is not None:
        command += ["--jobs", str(jobs)]
    if timeout is not None:
        command += ["--timeout", f"{timeout:.9f}s"]
    if extend:
        command.append("--extend")
    files = [] if file is None else [os.fspath(file)]
    return Sweep([*command, *args, "--", *files])


__all__ = ["Case", "Sweep", "sweep"]
