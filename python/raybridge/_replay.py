"""Reads recordings, through the program."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import warnings
import weakref
from typing import IO, Any, Dict, Iterator, List, Optional, Sequence, Union

from ._errors import Closed, ConnectionFailed, Error
from ._launch import binary
from ._messages import Decoder
from ._wire import Pipe, Stream


class Replay:
    """The samples of a recording, the oldest first: what a frame of a simulation has of them.

    It is an iterator, and ends the program that reads when it is closed, used up or forgotten.
    """

    def __init__(self, command: Sequence[str], folder: str) -> None:
        self._decoders: Dict[int, Decoder] = {}
        self._folder = folder
        self._log = open(os.path.join(folder, "stderr"), "w+b")
        try:
            self._program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log)
        except BaseException as e:
            self._log.close()
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(e, OSError):
                raise ConnectionFailed(f"start {command[0]}: {e.strerror}") from e
            raise
        self._finish = weakref.finalize(self, _end, self._program, self._log, folder, os.getpid())
        assert self._program.stdout is not None
        self._pipe: Optional[Pipe] = None
        try:
            self._pipe = Pipe(self._program.stdout)
        except Closed:
            pass
        if self._pipe is None:
            self._conclude(False)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Return the next sample: an Array for pictures and clouds, a Record for others."""
        while self._pipe is not None:
            whole = True
            try:
                next = self._pipe.next()
            except Closed:
                next, whole = None, False
            if isinstance(next, Stream):
                self._decoders[next.id] = Decoder(next, next.topic.strip("/"))
            elif next is not None:
                return self._decoders[next[0].id](next[1])
            else:
                self._pipe = None
                self._conclude(whole)
        raise StopIteration

    def _conclude(self, whole: bool) -> None:
        """Tell what the program says at its end. whole: it has said goodbye."""
        code = self._program.wait()
        self._log.seek(0)
        said = self._log.read().decode("utf-8", "replace").strip()
        told = re.findall("^warning: (.*)$", said, re.MULTILINE)
        try:
            with open(os.path.join(self._folder, "summary.json"), encoding="utf-8") as f:
                summary = json.load(f)
            told += [f"messages of {s['topic']} are left out ({s['messages']}): {s['cause']}" for s in summary["skipped"] if f"={s['topic']} " not in said]
            told += [f"{d['file']}: {d['bytes']} bytes from {d['offset']} on are left out: {d['cause']}" for d in summary["damaged"]]
        except (OSError, ValueError):
            pass
        self.close()
        if code not in (0, 4):
            raise Error(said.rpartition("raybridge: ")[2] or f"the program ended with exit code {code}")
        if not whole:
            raise Closed(f"the program was ended before the recording's end, with exit code {code}")
        for text in told:
            warnings.warn(text, stacklevel=3)

    def close(self) -> None:
        """End it. It may be called again."""
        self._pipe = None
        self._finish()

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(program: "subprocess.Popen[bytes]", log: IO[bytes], folder: str, pid: int) -> None:
    """End the program that reads. After a fork it is the parent's."""
    if pid != os.getpid():
        return
    if program.stdout is not None:
        program.stdout.close()
    program.kill()
    program.wait()
    log.close()
    shutil.rmtree(folder, ignore_errors=True)


def replay(*paths: Union[str, "os.PathLike[str]"], topics: Optional[Sequence[str]] = None, start: float = 0.0,
           duration: Optional[float] = None, strict: bool = False) -> Replay:
    """Read recordings: MCAP files, rosbag2 folders with them, or the name without number of a split one.

    Several are one, by the times at which their messages were recorded. A sample's info.key is its topic
    without the first slash, and info.published when it was recorded. topics are keys, or patterns such as
    "lidar/*"; None is all. start and duration are a part, in seconds from the first message on. What
    can't be read is left out, with a warning at the end; strict ends with an Error where a part is damaged.
    """
    command: List[str] = [binary(), "replay", "--stdout", "--fast", "--no-clock"]
    for topic in topics or ():
        command += ["--topics", topic]
    if start:
        command += ["--start", f"{start:.9f}s"]
    if duration is not None:
        command += ["--duration", f"{duration:.9f}s"]
    if strict:
        command.append("--strict")
    files = [os.fspath(path) for path in paths]
    folder = tempfile.mkdtemp(prefix="raybridge-")  # the replay's, which removes it
    return Replay([*command, "--summary", os.path.join(folder, "summary.json"), "--", *files], folder)


__all__ = ["Replay", "replay"]
