# SPDX-License-Identifier: Apache-2.0
"""What the functional coverage remembers: of the objects, and of what is under way."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from models.codes import QpState
from models.keys.window_types import CheckRequest
from models.params import Params
from models.post.post import Post
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvConfig, RecvRequest
from tb.env.coverage.bins import BINS
from tb.env.harness.records import Trace

_ALL = 0xFFFF


class CqMemory:
    """What coverage remembers of one CQ."""

    def __init__(self) -> None:
        self.state = 0
        self.typed = self.rearm = False
        self.log2 = 0
        self.count = self.interval = 0
        self.origin = 0
        self.snap = 0
        self.attempts = 0
        self.gave_up = False
        self.callback_type = -1
        self.resizes = 0
        self.stopped = False
        self.destroyed = False


class QpMemory:
    """What coverage remembers of one QP."""

    def __init__(self) -> None:
        self.state = QpState.FREE
        self.requests: deque[tuple[Post, bool]] = deque()  # and held until now
        self.tags: deque[int] = deque()
        self.tail = self.released = self.indicated = 0
        self.waits = False  # the request to be indicated is fenced
        self.failures = 0
        self.tag = 0
        self.mid = False  # in the middle of a batch
        self.lives = 0


@dataclass
class TakenBuffer:
    tag: int
    post: RecvPost
    request: RecvRequest | None = None
    too_long: bool = False
    reported: bool = False


@dataclass
class Receiver:
    """What coverage remembers of one QP."""

    config: RecvConfig = field(default_factory=RecvConfig)
    recv_cq: int = 0
    buffers: deque[RecvPost] = field(default_factory=deque)
    taken: deque[TakenBuffer] = field(default_factory=deque)  # not completed
    unanswered: deque[TakenBuffer] = field(default_factory=deque)
    tag: int = 0
    lives: int = 0
    failed: bool = False
    not_ready: bool = False
    too_long: bool = False


@dataclass
class SharedQueue:
    """What coverage remembers of one SRQ."""

    buffers: deque[RecvPost] = field(default_factory=deque)
    size: int = 0
    tail: int = 0
    reaped: int = 0
    flight: int = 0
    armed: bool = False
    watermark: int = 0
    events: int = 0
    vector: int = -1
    taker: int = -1
    lives: int = 0


@dataclass(frozen=True)
class Memory:
    """What coverage remembers of a key: its range, its rights, and of a window its region."""

    base: int
    length: int
    rights: int = 0
    region: int = 0

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + self.length


@dataclass
class Asked:
    """A check without a verdict, with the states that its QP had."""

    request: CheckRequest
    states: set[QpState] = field(default_factory=set)


class Situation:
    """What the groups share. It ends with a reset of the engine; ``counts`` go on."""

    def __init__(self, params: Params, counts: Counter[str]) -> None:
        self.params = params
        self.counts = counts
        self.half = 1 << params.idx_w - 1
        self.mask = (1 << params.idx_w) - 1
        self.cqs = [CqMemory() for _ in range(params.num_cq)]
        self.qps = [QpMemory() for _ in range(params.num_qp)]
        self.receivers = [Receiver() for _ in range(params.num_qp)]
        self.srqs = [SharedQueue() for _ in range(params.num_srq)]
        #: Offsets of the writes without an answer.
        self.requests: deque[int] = deque()
        #: The EQ of each vector.
        self.vectors: dict[int, int] = {}
        #: Pages of queues, by shared and number.
        self.owners: dict[tuple[bool, int], int] = {}
        #: Messages without an answer, with the states that their QPs had.
        self.messages: deque[tuple[RecvRequest, set[QpState]]] = deque()
        #: QPs in the order in which they took buffers that are not reported.
        self.taken_order: deque[int] = deque()
        #: Region of each key that is valid; keys that were.
        self.keys: dict[int, int] = {}
        self.old_keys: set[int] = set()
        #: Latest steps of lane 5, by QP.
        self.takes: dict[int, Trace] = {}
        self.asked: deque[Asked] = deque()
        self.memory: dict[int, Memory] = {}  # by key
        self.objects: dict[int, int] = {}  # bits 11:0 of a key: state
        self.closed: set[int] = set()  # keys of windows that were closed
        self.removed = False
        self.guards: dict[int, bool] = {}

    def hit(self, name: str) -> None:
        """Counts a hit of a bin."""
        self.counts[name] += 1

    def hit_if(self, condition: object, name: str) -> None:
        """Counts one if the condition holds."""
        if condition:
            self.counts[name] += 1

    def hit_if_known(self, name: str) -> None:
        """The same, if there is such a bin: a wrong engine may show anything."""
        if name in BINS:
            self.hit(name)

    def takes_in(self, cycle: int) -> list[Trace]:
        """The steps of lane 5 of a cycle."""
        return [step for step in self.takes.values() if step.cycle == cycle]


class Group:
    """Bins about one subject: methods that the table of the collector calls with records."""

    def __init__(self, situation: Situation) -> None:
        self.m = situation


def moderation_case(count: int, interval: int, entries: int) -> str:
    """The case of CQ-21 that accepted settings are."""
    if interval == 0:
        return "off by interval 0"
    if count <= 1:
        return f"off by count {count}"
    if interval == _ALL:
        return "count only"
    if count == _ALL:
        return "interval only, all-ones"
    return "interval only, above the depth" if count > entries else "both"


def weaker(one: int, two: int) -> bool:
    """True if arm type ``one`` (public code) is weaker than ``two``."""
    rank = {0: 0, 2: 1, 1: 2}
    return rank.get(one, 0) < rank.get(two, 0)
