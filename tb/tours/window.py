# SPDX-License-Identifier: Apache-2.0
"""The world of memory windows: up to two windows, one region, two guarded queue pairs and their
peers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from models.codes import CommandResult, QpState, Rights, ScatterCode, Verdict
from models.keys.keys import KeyTable
from models.keys.region import RegionConfig
from models.params import Params
from models.post.post import Post, Segment, slots_of
from models.post.qp import QpConfig, QpModel
from models.receive.receive_post import RecvPost
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import RecvConfig, RecvRequest
from models.verbs import BY_NAME
from tb.env.defs import PostFlag
from tb.tours.words import NAMES, OPEN, qp_command, result_word

PARAMS = Params(num_qp=2, num_pages=1, num_mr=1, num_mw=2)
WINDOWS = "xy"
ZONE = 1
LENGTH = 64  #: of the region
#: A window has the bytes in the middle, with these rights of its peer; the region has others.
PART, SIZE = 16, 8
GENERATION = 1 << 12
RIGHTS = Rights.REMOTE_READ
FLAGS = int(PostFlag.ALLOW_REMOTE_READ)
REGION_RIGHTS = Rights.LOCAL_WRITE | Rights.REMOTE_READ
REGION_FLAGS = int(PostFlag.ALLOW_LOCAL_WRITE | PostFlag.ALLOW_REMOTE_READ)
#: Accesses by name: kind, offset in the region, length.
CHECKS = {
    "read": (1, PART, SIZE),
    "write": (2, PART, SIZE),
    "beyond": (1, PART, SIZE + 1),
    "before": (1, PART - 1, 1),
}
_REMOVED = "DEVICE_REMOVED"


@dataclass(frozen=True)
class Setup:
    """``windows``: their number; ``allocated``: the region becomes valid by FastRegister;
    ``checks``: accesses that peers try; ``old``: also with the keys of former bindings; ``region``:
    the region's key is named, too; ``lives``: queue pairs are destroyed and created; ``removal``:
    the device is removed; ``nd1``: the second queue pair completes an invalidating receive with two
    entries.
    """

    windows: int = 2
    allocated: bool = False
    checks: tuple[str, ...] = ("read",)
    old: bool = False
    region: bool = False
    lives: bool = False
    removal: bool = False
    nd1: bool = False


def key_of(table: KeyTable, qps: Sequence[QpModel], windows: int, removed: bool) -> Hashable:
    """The state of keys and queue pairs at rest, without generations."""
    region = table.regions[0]
    where = "-"
    if region is not None:
        where = "valid" if region.valid else "not valid"
        if region.allocated and region.valid:
            where = NAMES[region.qp]
    bound = []
    for window in table.windows[:windows]:
        if window is None:
            bound.append("-")
        else:
            bound.append(NAMES[window.qp] if window.valid else "free")
    states = [qp.state.name for qp in qps]
    return (*["removed"] * removed, f"region {where}", *bound, *states)


class WindowWorld:
    """The models of the key table and of the queue pairs."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.table = KeyTable(PARAMS)
        self.qps = [QpModel(n, PARAMS, self.table) for n in range(2)]
        self.rqs = [ReceiveQp(qp, self.table) for qp in self.qps]
        self.config = RegionConfig(0, LENGTH, ZONE, REGION_RIGHTS)
        #: Present or latest key of windows x and y, and of the region.
        self.keys = {"x": 0x800, "y": 0x801, "r": 0}
        for n in range(2):
            self._create_qp(n)
            self.qps[n].connect(n)

    def key(self) -> Hashable:
        """See :func:`key_of`."""
        return key_of(self.table, self.qps, self.setup.windows, self.table.removed)

    # -- what can happen ---------------------------------------------------------------------------

    def actions(self) -> Iterator[str]:
        """Everything that host and peers can do."""
        setup = self.setup
        windows = WINDOWS[: setup.windows]
        yield "allocate" if setup.allocated else "register"
        yield "deregister"
        for w in windows:
            yield f"create {w}"
            yield f"close {w}"
        if setup.removal:
            yield "remove"
        for n, qp in zip(NAMES, self.qps, strict=True):
            for w in windows:
                yield f"bind {n} {w}"
            if setup.allocated:
                yield f"fast {n} r"
            yield from self._with_keys(n, windows + "r" * setup.region)
            if setup.old:
                yield from (f"{word} {n} x old" for word in ("bind", "invalidate", "peer"))
                yield f"check {n} x read old"
            yield f"flush {n}"
            if qp.state is not QpState.CONNECTED:
                yield f"revive {n}"
            if setup.lives:
                yield f"destroy {n}"
                yield f"new {n}"

    def _with_keys(self, n: str, objects: str) -> Iterator[str]:
        for one in objects:
            yield f"invalidate {n} {one}"
            yield f"peer {n} {one}"
            for kind in self.setup.checks:
                yield f"check {n} {one} {kind}"

    # -- doing it ----------------------------------------------------------------------------------

    def act(self, action: str) -> str:
        """Does it, and what follows; returns the answer."""
        answer = self._do(*action.split())
        self._rest()
        return answer

    def _do(self, word: str, *rest: str) -> str:
        if word in ("register", "allocate", "deregister", "create", "close", "remove"):
            return self._command(word, *rest)
        n = NAMES.index(rest[0])
        if word in ("flush", "revive", "destroy", "new"):
            return self._life(word, n)
        key = self.keys[rest[1]]
        if rest[-1] == "old":
            key = (key - GENERATION) % (1 << 32)
        if word == "peer":
            return self._peer(n, key)
        if word == "check":
            return self._check(n, key, rest[2])
        return self._post(n, word, rest[1], key)

    def _command(self, word: str, name: str = "") -> str:
        table = self.table
        if table.removed and word not in ("deregister", "close"):
            return _REMOVED
        result = CommandResult.OK
        number = WINDOWS.index(name) if name else 0
        if word == "register":
            result = table.check_register(0, self.config)
            if result is CommandResult.OK:
                self.keys["r"] = table.register(0, self.config)
        elif word == "allocate":
            result = table.check_allocate(0)
            if result is CommandResult.OK:
                self.keys["r"] = table.allocate(0, ZONE)
        elif word == "create":
            result = table.check_create(number)
            if result is CommandResult.OK:
                self.keys[name] = table.create(number, ZONE)
        elif word == "remove":
            table.remove()
        else:
            result = table.deregister(0) if word == "deregister" else table.close(number)
        return result_word(result)

    def _life(self, word: str, n: int) -> str:
        qp, removed = self.qps[n], self.table.removed
        if word == "revive":
            idle = qp_command(qp, "idle")
            return f"{idle} {_REMOVED if removed else qp_command(qp, 'connect', n)}"
        if word == "new":
            return _REMOVED if removed else self._create_qp(n)
        return qp_command(qp, word, receiving=self.rqs[n].busy)

    def _create_qp(self, n: int) -> str:
        if self.qps[n].state is not QpState.FREE:
            return "EXISTS"
        self.qps[n].create(QpConfig(depth=2))
        two = self.setup.nd1 and n == 1
        self.rqs[n].create(RecvConfig(ZONE, 1, guarded=True, two=two))
        return "OK"

    def _post(self, n: int, word: str, name: str, key: int) -> str:
        target = Segment(0, 0, key)
        if word == "invalidate":
            post = Post(BY_NAME["Invalidate"].opcode, slots=slots_of([], target))
        elif word == "bind":
            slots = slots_of([Segment(PART, SIZE, self.keys["r"])], target)
            post = Post(BY_NAME["Bind"].opcode, 1, FLAGS, slots=slots)
        else:
            slots = slots_of([Segment(0, LENGTH, 0)], target)
            post = Post(BY_NAME["FastRegister"].opcode, 1, REGION_FLAGS, slots=slots)
        cause = self.qps[n].post(post).cause
        if self.qps[n].next_indication() is not None:
            step = self.qps[n].indicate().step
            if step is not None and step.new_key is not None:
                self.keys[name] = step.new_key
        return cause.name

    def _peer(self, n: int, key: int) -> str:
        """A SendAndInvalidate arrives; there is a buffer if the queue pair is connected."""
        rq = self.rqs[n]
        if rq.qp.state is QpState.CONNECTED and not self.table.removed:
            rq.post(RecvPost(n, 0, 0))
        answer = rq.take(RecvRequest(n, 0, invalidate=True, token=key))
        if rq.length_pending:
            rq.fail_length()
        if answer.code in (ScatterCode.SCATTER, ScatterCode.BAD_TOKEN):
            rq.report(PARAMS.index(rq.reported), 0)
        return answer.code.name

    def _check(self, n: int, key: int, kind: str) -> str:
        qp = self.qps[n]
        if self.table.removed or qp.state not in OPEN:
            return Verdict.REFUSED.name
        code, offset, length = CHECKS[kind]
        found = Verdict(self.table.check(n, ZONE, code, key, offset, length).code)
        if found is not Verdict.GRANTED:
            qp.must_fail()
        return found.name

    def _rest(self) -> None:
        for qp, rq in zip(self.qps, self.rqs, strict=True):
            while qp.retirable:
                qp.retire()
            if qp.ending is not None and qp.ending == qp.connections:
                qp.fail()
            if self.table.removed and qp.state in OPEN:
                qp.receive_failed()
            while rq.completable:
                rq.complete()
