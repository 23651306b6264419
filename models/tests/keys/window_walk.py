# SPDX-License-Identifier: Apache-2.0
"""Breadth-first walk over every interleaving of what can happen to a few keys.

A :class:`World` holds the models (a key table, two queue pairs) and a :class:`Witness`. The witness
sees only what a host and a peer see (keys that commands and successful requests gave, statuses,
verdicts, states) and keeps its own list of which key is valid where; the properties are stated over
that list. Generations end after a few keys, so that every history ends or comes back to a state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from models.codes import By, CommandResult, ModelError, QpState, TraceOp
from models.keys.keys import KeyTable
from models.keys.region import RegionConfig
from models.keys.window_types import KeyStep
from models.layouts import LAST_GENERATION
from models.params import Params
from models.post.post import Post, Segment
from models.post.qp import QpConfig, QpModel
from models.post.qp_types import StateStep
from models.tests.keys.window_helpers import READ, bind_post, local
from models.tests.post.posting_walk import Result, ViolationError, demand

PARAMS = Params(idx_w=4, num_qp=2, num_mr=2, num_mw=2, sq_log2=1)
OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
#: Region 0 is registered, region 1 allocated; both have these bytes when they are valid.
BASE, LENGTH = 0x100, 4
#: A window has the two bytes in the middle.
PART, SIZE = 0x101, 2
WINDOW, GENERATION = 0x800, 1 << 12
INVALID = 4

__all__ = ["Result", "Setup", "ViolationError", "walk"]


@dataclass
class Setup:
    """One configuration to walk: objects, generations left, mutated models, what may not happen.

    ``queued``: requests are posted and executed in moves of their own, with races between.
    """

    windows: int = 1
    fast: bool = False
    lives: int = 4
    queued: bool = False
    table: type[KeyTable] = KeyTable
    qp: type[QpModel] = QpModel
    skip: tuple[str, ...] = ()  #: beginnings of the names of moves

    def skips(self, name: str) -> bool:
        """True if a move is not to be made."""
        return name.startswith(self.skip)


@dataclass
class Witness:
    """The history, as far as anything can still depend on it; keys as the host learned them."""

    present: dict[int, int] = field(default_factory=dict)  #: object's number -> present key
    bound: dict[int, tuple[int, int]] = field(default_factory=dict)  #: valid window: QP, region
    usable: dict[int, int | None] = field(default_factory=dict)  #: valid region: its QP
    dead: set[int] = field(default_factory=set)  #: keys that were valid, or were passed over
    states: list[QpState] = field(default_factory=list)
    failed: list[bool] = field(default_factory=list)  #: the connection is to end
    removed: bool = False

    def clone(self) -> Witness:
        """An independent copy."""
        other = replace(self, present=dict(self.present), bound=dict(self.bound))
        other.usable, other.dead = dict(self.usable), set(self.dead)
        other.states, other.failed = list(self.states), list(self.failed)
        return other

    def kill(self, key: int) -> None:
        """A valid key becomes invalid."""
        self.bound.pop(key, None)
        self.usable.pop(key, None)
        self.dead.add(key)

    def give(self, number: int, key: int | None) -> int:
        """An object has a new key, which no one has ever had; the old one is gone."""
        old = self.present.get(number, 0)
        demand(key is not None and key > old and key & 0xFFF == number, "key", f"{key}")
        assert key is not None
        demand(key not in self.dead, "key", f"{key:#x} was given before")
        if old:
            self.dead.add(old)
        self.present[number] = key
        return key

    def users(self, region: int) -> int:
        """Windows bound to a region number."""
        return sum(where == region for _, where in self.bound.values())

    def can_invalidate(self, qp: int, key: int) -> bool:
        """Would an invalidation through this queue pair succeed?"""
        if key in self.bound:
            return self.bound[key][0] == qp
        return key in self.usable and self.usable[key] == qp and not self.users(key & 0xFFF)


class World:
    """The models and the witness."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.keys = keys = setup.table(PARAMS)
        first = LAST_GENERATION - setup.lives
        keys.serials = [first] * PARAMS.num_mr
        keys.window_serials = [first] * PARAMS.num_mw
        self.wit = w = Witness()
        self.qps = [setup.qp(n, PARAMS, keys) for n in range(PARAMS.num_qp)]
        for n, qp in enumerate(self.qps):
            qp.create(QpConfig(depth=1))
            qp.guarded = True
            w.states.append(QpState.IDLE)
            w.failed.append(False)
            self.connect(n)
        self.register()

    def clone(self) -> World:
        """An independent copy."""
        other = object.__new__(World)
        other.setup, other.wit = self.setup, self.wit.clone()
        keys = object.__new__(type(self.keys))
        keys.__dict__.update(self.keys.__dict__)
        keys.regions, keys.windows = list(keys.regions), list(keys.windows)
        keys.serials, keys.window_serials = list(keys.serials), list(keys.window_serials)
        other.keys, other.qps = keys, []
        for old in self.qps:
            qp = object.__new__(type(old))
            qp.__dict__.update(old.__dict__)
            qp.keys, qp.requests = keys, [replace(r) for r in old.requests]
            other.qps.append(qp)
        return other

    def key(self) -> tuple[object, ...]:
        """Canonical state; numbers of requests relative to each other."""
        k, w = self.keys, self.wit
        model: list[object] = [
            (*k.regions, *k.windows, *k.serials, *k.window_serials, k.removed),
        ]
        for qp in self.qps:
            waiting = tuple((r.post, r.indicated, r.skipped, r.status) for r in qp.requests)
            ending = qp.ending == qp.connections
            model.append((qp.state, qp.failed, ending, qp.halting, waiting, qp.late is not None))
        seen = (
            tuple(sorted(w.present.items())),
            tuple(sorted(w.bound.items())),
            tuple(sorted(w.usable.items(), key=str)),
            frozenset(w.dead),
            (*w.states, *w.failed, w.removed),
        )
        return (*model, *seen)

    # -- moves -------------------------------------------------------------------------------

    def register(self) -> None:
        """REGISTER_MR of region 0, with local write and no remote right."""
        config = RegionConfig(BASE, LENGTH)
        full = self.wit.present.get(0, 0) >> 12 == LAST_GENERATION
        wanted = CommandResult.CMD_NO_KEYS if full else CommandResult.OK
        demand(self.keys.check_register(0, config) is wanted, "result", "REGISTER_MR")
        if not full:
            key = self.wit.give(0, self.keys.register(0, config))
            self.wit.usable[key] = None

    def allocate(self) -> None:
        """ALLOC_MR of region 1."""
        full = self.wit.present.get(1, 0) >> 12 == LAST_GENERATION
        wanted = CommandResult.CMD_NO_KEYS if full else CommandResult.OK
        demand(self.keys.check_allocate(1) is wanted, "result", "ALLOC_MR")
        if not full:
            self.wit.give(1, self.keys.allocate(1, 0))

    def deregister(self, number: int) -> None:
        """DEREGISTER_MR."""
        busy = self.wit.users(number) > 0
        wanted = CommandResult.CMD_BUSY if busy else CommandResult.OK
        got = self.keys.deregister(number)
        demand(got is wanted, "busy", f"DEREGISTER_MR {number}: {got.name}")
        if not busy:
            self.wit.kill(self.wit.present[number])

    def open_window(self, number: int) -> None:
        """CREATE_MW."""
        full = self.wit.present.get(WINDOW | number, 0) >> 12 == LAST_GENERATION
        wanted = CommandResult.CMD_NO_KEYS if full else CommandResult.OK
        demand(self.keys.check_create(number) is wanted, "result", "CREATE_MW")
        if not full:
            self.wit.give(WINDOW | number, self.keys.create(number))

    def close(self, number: int) -> None:
        """CLOSE_MW."""
        demand(self.keys.close(number) is CommandResult.OK, "result", "CLOSE_MW")
        self.wit.kill(self.wit.present[WINDOW | number])

    def remove(self) -> None:
        """REMOVE_DEVICE."""
        self.keys.remove()
        self.wit.removed = True

    def post(self, n: int, post: Post) -> None:
        """A post, which is executed at once or, with ``queued``, some time later."""
        got = self.qps[n].post(post).cause
        wanted = 0x17 if self.wit.removed else 0
        wanted = wanted or (0x13 if self.wit.states[n] is not QpState.CONNECTED else 0)
        demand(got == wanted, "cause", f"{got!s} instead of {wanted:#x}")
        if not got and not self.setup.queued:
            self.execute(n)

    def execute(self, n: int, late: bool = False) -> None:
        """The next request is indicated."""
        beat = self.qps[n].indicate(late)
        step, post = beat.step, beat.post
        demand(step is not None, "executed", f"{post}")
        assert step is not None
        target = post.target.key
        if step.op is TraceOp.INVALIDATE:
            self.invalidated(n, target, step)
        elif step.op is TraceOp.BIND:
            self._bound(n, target, post.segments[0], step)
        else:
            self._registered(n, target, step)
        if not step.okay:
            self.wit.failed[n] = True
        if not self.setup.queued:
            self.retire(n)

    def _bound(self, n: int, target: int, segment: Segment, step: KeyStep) -> None:
        w, number = self.wit, target & 0xFFF
        live = w.present.get(number) == target and self.keys.windows[number ^ WINDOW] is not None
        region = segment.key
        wanted = 0
        if not live:
            wanted = INVALID
        elif target in w.bound:
            wanted = 5
        elif region not in w.usable:
            wanted = 6
        elif target >> 12 == LAST_GENERATION:
            wanted = 7
        demand(step.code == wanted, "status", f"BIND: {step.code} instead of {wanted}")
        if not wanted:
            w.bound[w.give(number, step.new_key)] = n, region & 0xFFF

    def _registered(self, n: int, target: int, step: KeyStep) -> None:
        w = self.wit
        live = w.present.get(1) == target and self.keys.regions[1] is not None
        wanted = 0 if live else INVALID
        wanted = wanted or (5 if target in w.usable else 0)
        wanted = wanted or (7 if target >> 12 == LAST_GENERATION else 0)
        demand(step.code == wanted, "status", f"FAST_REGISTER: {step.code} instead of {wanted}")
        if not wanted:
            w.usable[w.give(1, step.new_key)] = n

    def invalidated(self, n: int, key: int, step: KeyStep) -> None:
        """One of any number of invalidations of a key succeeds, the first one."""
        wanted = 0 if self.wit.can_invalidate(n, key) else INVALID
        demand(step.code == wanted, "race", f"{step.code} instead of {wanted}")
        if not wanted:
            self.wit.kill(key)

    def peer(self, n: int, key: int) -> None:
        """The peer's SendAndInvalidate takes a buffer."""
        step = self.keys.invalidate(n, key, By.PEER)
        self.invalidated(n, key, step)
        if not step.okay:
            self.qps[n].must_fail()
            self.wit.failed[n] = True

    def retire(self, n: int) -> None:
        """The oldest request completes."""
        request = self.qps[n].requests[0]
        status = self.qps[n].retire().status
        wanted = {1} if request.skipped else {request.status, 1}
        demand(status in wanted, "status", f"{status} instead of {wanted}")

    def enter(self, n: int, step: StateStep | None) -> None:
        """A state changes."""
        w = self.wit
        if step is not None:
            demand(step.old is w.states[n] is not step.new, "state", f"{step}")
            w.states[n] = step.new
            w.failed[n] = False

    def fail(self, n: int) -> None:
        """The state that follows a failure."""
        step = self.qps[n].fail()
        demand((step is not None) is (self.wit.states[n] in OPEN), "state", f"{step}")
        self.enter(n, step)
        self.wit.failed[n] = False

    def connect(self, n: int) -> None:
        """CONNECT_QP."""
        if self.wit.states[n] is not QpState.IDLE:
            self.enter(n, self.qps[n].set_state(QpState.IDLE)[1])
        self.enter(n, self.qps[n].connect(1)[1])

    def end(self, n: int) -> None:
        """FLUSH_QP, also as a removal does it."""
        self.enter(n, self.qps[n].flush()[1])

    def moves(self) -> Iterator[tuple[str, Callable[[World], object]]]:
        """Everything that can happen now."""
        w, keys = self.wit, self.keys
        for number, region in enumerate(keys.regions):
            if region is not None:
                yield f"deregister {number}", _on(World.deregister, number)
            elif not w.removed and number == 0:
                yield "register", World.register
            elif not w.removed and self.setup.fast:
                yield "allocate", World.allocate
        for number in range(self.setup.windows):
            if keys.windows[number] is not None:
                yield f"close {number}", _on(World.close, number)
            elif not w.removed:
                yield f"create {number}", _on(World.open_window, number)
        if not w.removed:
            yield "remove", World.remove
        for n, qp in enumerate(self.qps):
            yield from self._posts(n)
            if qp.next_indication() is not None and self.setup.queued:
                yield f"execute {n}", _on(World.execute, n)
            if qp.late is not None and qp.state is not QpState.CONNECTED:
                yield f"late {n}", _on(World.execute, n, True)
            if qp.retirable:
                yield f"retire {n}", _on(World.retire, n)
            if w.failed[n]:
                yield f"fail {n}", _on(World.fail, n)
            if w.states[n] in OPEN:
                yield f"end {n}", _on(World.end, n)
            elif not w.removed and not qp.requests:
                yield f"connect {n}", _on(World.connect, n)

    def _posts(self, n: int) -> Iterator[tuple[str, Callable[[World], object]]]:
        w = self.wit
        windows = [key for number, key in w.present.items() if number & WINDOW]
        regions = [key for number, key in w.present.items() if not number & WINDOW]
        if w.states[n] is QpState.CONNECTED and not w.failed[n] and not self.qps[n].requests:
            for key in windows:
                for region in regions:
                    post = bind_post(key, region, PART, SIZE, READ)
                    yield f"bind {n} {key:x} {region:x}", _on(World.post, n, post)
            for key in [*windows, *regions]:
                if key in w.bound or key in w.usable or self.setup.queued:
                    post = local("Invalidate", key)
                    yield f"invalidate {n} {key:x}", _on(World.post, n, post)
            if 1 in w.present:
                key = w.present[1]
                post = local("FastRegister", key, Segment(BASE, LENGTH), READ)
                yield f"fast {n} {key:x}", _on(World.post, n, post)
        if w.states[n] in OPEN and not w.failed[n] and not w.removed:
            for key in [*windows, *regions]:
                yield f"peer {n} {key:x}", _on(World.peer, n, key)

    # -- in every state ----------------------------------------------------------------------

    def check(self) -> None:
        """Every access through every queue pair with every key there ever was; busy counts."""
        w, keys = self.wit, self.keys
        known = {*w.present.values(), *w.dead}
        known |= {key + GENERATION for key in w.present.values() if key >> 12 < LAST_GENERATION}
        for key in known:
            through = [n for n in range(2) if keys.check(n, 0, 1, key, PART, SIZE).code == 0]
            if key in w.bound:
                wanted = [w.bound[key][0]]
            elif key in w.usable and w.usable[key] is not None:
                wanted = [0, 1]  # by FastRegister, with remote read
            else:
                wanted = []
            demand(through == wanted, "access", f"{key:#x} through {through}, not {wanted}")
            valid = key in w.bound or key in w.usable
            demand(keys.is_valid(key) is valid, "valid", f"{key:#x}")
            demand(not (valid and key in w.dead), "alive", f"{key:#x} is valid again")
            for n in range(2):
                outside = keys.check(n, 0, 1, key, PART, LENGTH).code
                demand(outside != 0, "range", f"{key:#x}")
                demand(keys.check(n, 0, 2, key, PART, 1).code != 0, "right", f"{key:#x}")
        for number, region in enumerate(keys.regions):
            users = 0 if region is None else region.windows
            demand(users == w.users(number), "count", f"region {number}: {users}")
        for number, where in w.bound.values():
            demand(keys.regions[where] is not None, "count", f"QP {number}: no region {where}")
        for n, qp in enumerate(self.qps):
            ending = qp.ending == qp.connections and qp.state in OPEN
            holds = n in w.usable.values() or n in [where for where, _ in w.bound.values()]
            demand(qp.keyed is holds, "in use", f"QP {n}")
            demand(ending is (w.failed[n] and w.states[n] in OPEN), "ending", f"QP {n}")

    def drain(self) -> None:
        """After a removal everything comes to an end, and everything can be cleaned up."""
        if not self.wit.removed:
            return
        for n, qp in enumerate(self.qps):
            if self.wit.states[n] in OPEN:
                self.end(n)
            while qp.retirable:
                self.retire(n)
            demand(not qp.requests, "stuck", f"QP {n}")
            keyed = n in [where for where, _ in self.wit.bound.values()]
            if keyed or n in self.wit.usable.values():
                demand(qp.destroy()[0] is CommandResult.CMD_IN_USE, "in use", f"QP {n}")
        for number, window in enumerate(self.keys.windows):
            if window is not None:
                self.close(number)
        for number, region in enumerate(self.keys.regions):
            if region is not None:
                self.deregister(number)
        demand(not self.wit.bound and not self.wit.usable, "stuck", "a key is valid")
        for n, qp in enumerate(self.qps):
            demand(qp.destroy()[0] is CommandResult.OK, "stuck", f"QP {n}")


def _on(move: Callable[..., object], *args: object) -> Callable[[World], object]:
    """A move with its arguments."""
    return lambda world: move(world, *args)


def walk(setup: Setup) -> Result:
    """Walk every state; raises :class:`ViolationError` with the path in its notes."""
    start = World(setup)
    known = {start.key()}
    todo: deque[tuple[World, tuple[str, ...]]] = deque([(start, ())])
    result = Result()
    while todo:
        world, path = todo.popleft()
        for name, move in world.moves():
            if setup.skips(name):
                continue
            after = world.clone()
            try:
                move(after)
                result.transitions += 1
                result.moves.add(name.split()[0])
                key = after.key()
                if key not in known:
                    known.add(key)
                    todo.append((after, (*path, name)))
                    after.check()
                    after.clone().drain()
            except ModelError as error:
                raise ViolationError("model", f"{error} after {(*path, name)}") from error
            except ViolationError as violation:
                violation.add_note(" > ".join((*path, name)))
                raise
    result.states = len(known)
    return result
