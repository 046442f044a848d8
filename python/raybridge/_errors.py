"""The exceptions. Error is the root of them all."""
from __future__ import annotations

from typing import Optional


class Error(Exception):
    """Whatever goes wrong with a simulation. Its text is the program's where the program has one."""


class ConnectionFailed(Error, ConnectionError):
    """Nothing answers at the address, or something that isn't a raybridge API."""


class VersionMismatch(Error):
    """The program speaks another version of the protocol. The text names both."""


class Timeout(Error, TimeoutError):
    """Something took longer than it may."""


class Closed(Error):
    """The simulation is over: the program has ended, or the connection was closed."""


class UnknownSensor(Error, KeyError):
    """The simulation has no sensor and output of that name. The text lists those there are."""

    def __str__(self) -> str:
        return str(self.args[0])


class Unfinished(Error):
    """A step's frame was applied, and the step did not end: somebody else has changed the clock.

    Who came has a handle, and who went is gone. sim.time is where time stands. The next step begins there, and
    its frame has the data that came. kind is as Refused has it.
    """

    def __init__(self, text: str, kind: str = "failed") -> None:
        super().__init__(text)
        self.kind = kind


class Refused(Error):
    """The program refuses a request, and nothing of it was done.

    kind is one of failed, busy, wrong_mode, time, value, unknown_actor, duplicate, full, malformed, unknown_signal,
    or for requests other than a step http_ and the status. list, index and actor say which entry of
    a step is at fault, where one is; actor is the light of an entry of signals.
    """

    def __init__(self, text: str, kind: str = "failed", list: str = "", index: Optional[int] = None, actor: object = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.list = list
        self.index = index
        self.actor = actor


class Busy(Refused):
    """Somebody else steps the run."""
