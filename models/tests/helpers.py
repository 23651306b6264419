# SPDX-License-Identifier: Apache-2.0
"""Short ways to bring the model into a situation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from models.arm.arm import Callback, CqConfig, CqModel
from models.codes import ArmType, Cause, Command, CommandResult
from models.cq.core import CompletionCore
from models.cq.entries import Cqe
from models.cq.queue import Placement
from models.host.control import make_args
from models.host.doorbell import pack_doorbell
from models.layouts import CB_RETURN, CQ_DB, LINE_BYTES, PAGE_BYTES
from models.params import Params
from models.tests.broken.parts import WHOLE, Parts

SOL, PLAIN = True, False

SMALL = Params(num_cq=4, num_eq=2, num_pages=4, idx_w=6, mod_tick=8)


def in_tiers(names: Iterable[str], full: Iterable[str]) -> list[Any]:
    """Values of a test's parameter, of which those in ``full`` run in the full tier only."""
    later = frozenset(full)
    return [pytest.param(n, marks=[pytest.mark.full] if n in later else []) for n in names]


def fresh(
    parts: Parts = WHOLE,
    *,
    entries: int = 8,
    typed: bool = False,
    rearm: bool = False,
    mod_count: int = 0,
    mod_interval: int = 0,
) -> CqModel:
    """A queue that was just created."""
    cq = parts.cq(index_bits=8, mod_tick=8)
    cq.create(CqConfig(entries, typed, rearm, mod_count, mod_interval))
    return cq


def put(cq: CqModel, *classes: bool) -> list[Callback]:
    """Completions are written and acknowledged; the callbacks called, a look included."""
    cq.wrote(len(classes))
    return cq.publish(classes).calls + cq.moderation().calls


def arm(cq: CqModel, arm_type: ArmType = ArmType.ANY, polled: int = 0) -> list[Callback]:
    """The consumer polls some entries and arms; the callbacks called."""
    return cq.doorbell((cq.cons + polled) % 256, arm_type).calls + cq.moderation().calls


def poll(cq: CqModel, count: int) -> list[Callback]:
    """The consumer polls some entries; the callbacks called."""
    step = cq.doorbell((cq.cons + count) % 256)
    return step.calls + cq.moderation().calls


def finish(cq: CqModel) -> list[Callback]:
    """The event entry is acknowledged and the callback returns; the callbacks called."""
    return cq.event_done().calls + cq.callback_return().calls


def small_engine(
    parts: Parts = WHOLE,
    log2: int = 2,
    reservation: bool = True,
    cqs: int = 2,
) -> CompletionCore:
    """An engine with event queue 1 on page 1 and queues 0 to ``cqs`` - 1 on it."""
    engine = parts.core(SMALL)
    reply = engine.command(
        Command.CREATE_EQ, make_args(1, base=0x1_0000_1000, log2=2, vector=5, page=1)
    )
    assert reply.result is CommandResult.OK
    for cq in range(cqs):
        args = make_args(
            cq, base=0x4000 + 0x1000 * cq, log2=log2, page=1, eq=1, reservation=reservation
        )
        assert engine.command(Command.CREATE_CQ, args).result is CommandResult.OK
    return engine


def beat(offset: int, word: int, page: int = 1) -> tuple[int, int, int, int, int]:
    """Arguments of a well-formed doorbell-page write: addr, length, size, strb, data."""
    addr = page * PAGE_BYTES + offset
    lane = addr % 64
    return addr, 0, 3, 0xFF << lane, word << 8 * lane


def ring_bell(
    cq: int, index: int, arm_type: ArmType | None = None, page: int = 1
) -> tuple[int, int, int, int, int]:
    """A CQ_DB write."""
    return beat(CQ_DB, pack_doorbell(cq, index, arm_type), page)


def return_bell(cq: int, page: int = 1) -> tuple[int, int, int, int, int]:
    """A CB_RETURN write."""
    return beat(CB_RETURN, cq << 32, page)


def callback_on(engine: CompletionCore, cq: int) -> Callback:
    """Queue ``cq`` (without reservation) is armed and gets a completion."""
    assert engine.write(*ring_bell(cq, engine.cqs[cq].cons % 64, ArmType.ANY)).cause is Cause.OK
    verdict, _ = engine.complete(cq, Cqe().pack())
    assert verdict is Placement.PLACED
    engine.memory_write(cq)
    (call,) = engine.acknowledge(cq).calls
    return call


def line(address: int, *entries: bytes) -> tuple[int, bytes, int]:
    """Entries side by side as a memory beat: address, 64 bytes, strobes."""
    lane, data = address % LINE_BYTES, b"".join(entries)
    strb = (1 << len(data)) - 1 << lane
    return address - lane, (bytes(lane) + data).ljust(LINE_BYTES, b"\0"), strb
