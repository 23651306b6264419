# SPDX-License-Identifier: Apache-2.0
"""Keys of regions and windows: their life, and the statuses of requests that change them."""

from __future__ import annotations

import itertools

import pytest

from models.codes import (
    KEY_STATUSES,
    WINDOW_COMMANDS,
    By,
    Command,
    CommandResult,
    LogCause,
    ModelError,
    PostFlag,
    Status,
    TraceOp,
    Verdict,
)
from models.keys.region import RegionConfig
from models.keys.window_control import make_window_args
from models.post.post import Segment
from models.receive.receive_control import make_region_args
from models.tests.keys.window_helpers import (
    BARE,
    BASE,
    CONTEXT,
    FAST,
    FOREIGN,
    LENGTH,
    NEXT,
    OK,
    OTHER,
    READ,
    REGION,
    SECOND,
    STRANGE,
    WINDOW,
    WRITE,
    A,
    B,
    bind_post,
    bound,
    engine,
    local,
    run,
)
from models.verb import rights_of

LAST = 0xF_FFFF
NO_KEYS = CommandResult.CMD_NO_KEYS
INVALID, ALREADY, MEMORY, KEYS = 4, 5, 6, 7


def test_codes() -> None:
    assert [(int(s), s.name) for s in KEY_STATUSES] == [
        (0, "SUCCESS"),
        (4, "INVALID_TOKEN"),
        (5, "ALREADY_VALID"),
        (6, "BAD_MEMORY"),
        (7, "NO_KEYS"),
    ]
    assert int(Status.INVALID_TOKEN) == INVALID
    assert [(int(v), v.name) for v in Verdict] == [
        (0, "GRANTED"),
        (5, "REFUSED"),
        (1, "BAD_KEY"),
        (2, "WRONG_QP"),
        (3, "NO_RIGHT"),
        (4, "BAD_RANGE"),
    ]
    assert [int(c) for c in WINDOW_COMMANDS] == [0x43, 0x48, 0x49, 0x4A, 0x4F]
    assert [int(op) for op in TraceOp if op >= 0x70] == [0x70, 0x71, 0x72, 0x73, 0x74, 0x75]
    assert [int(log) for log in LogCause if log >= 0x36] == [0x36, 0x37]
    assert int(CommandResult.CMD_DEVICE_REMOVED) == 0x56


# -- life of keys ------------------------------------------------------------------------------


def test_each_giving_counts_up_and_no_key_comes_back() -> None:
    model = engine()
    keys, key, past = model.table, WINDOW, []
    for n in range(6):
        assert run(model, A, bind_post(key)) == [0]
        past.append(key)
        key += NEXT
        assert keys.is_valid(key)
        assert run(model, A, local("Invalidate", key)) == [0]
        if n % 2:  # without a new creation the next Bind names the invalidated key
            past.append(key)
            assert model.command(Command.CLOSE_MW, make_window_args(0)).result is OK
            key += NEXT
            made = model.command(Command.CREATE_MW, make_window_args(0, 5))
            assert made.out[0] == key
        assert not any(keys.is_valid(old) for old in (*past, key))
    assert [key >> 12 for key in past] == list(range(1, 10))


def test_region_keys() -> None:
    """ALLOC_MR, FastRegister and REGISTER_MR of one number share one generation."""
    model = engine()
    keys = model.table
    assert not keys.is_valid(FAST)
    register = local("FastRegister", FAST, Segment(BASE, 1, 0xDEAD), READ)
    assert run(model, A, register) == [0]
    assert keys.is_valid(FAST + NEXT)
    assert not keys.is_valid(FAST)
    assert run(model, A, local("Invalidate", FAST + NEXT)) == [0]
    assert not keys.is_valid(FAST + NEXT)
    again = local("FastRegister", FAST + NEXT, Segment(BASE, 1), READ)
    assert run(model, B, again) == [0]
    assert model.command(Command.DEREGISTER_MR, make_region_args(3)).result is OK
    assert not keys.is_valid(FAST + 2 * NEXT)
    config = RegionConfig(BASE, 1, 5)
    made = model.command(Command.REGISTER_MR, make_region_args(3, config))
    assert made.out[0] == FAST + 3 * NEXT
    assert [keys.is_valid(FAST + n * NEXT) for n in range(5)] == [False] * 3 + [True, False]


def test_no_further_key() -> None:
    """Keys end; the last one given stays as good as any."""
    model = engine()
    keys = model.table
    for last in (LAST - 1, LAST):
        keys.window_serials[3] = last - 1
        made = model.command(Command.CREATE_MW, make_window_args(3, 5))
        key = last << 12 | 0x803
        assert made.out[0] == key
        status = run(model, A, bind_post(key))
        if last == LAST:
            assert status == [KEYS]
        else:
            assert status == [0]
            assert keys.is_valid(0xFFFF_F803)
        assert model.command(Command.CLOSE_MW, make_window_args(3)).result is OK
        assert not keys.is_valid(0xFFFF_F803)
    assert model.command(Command.CREATE_MW, make_window_args(3, 5)).result is NO_KEYS
    with pytest.raises(ModelError):
        keys.create(3)
    model = engine()
    keys = model.table
    assert model.command(Command.DEREGISTER_MR, make_region_args(3)).result is OK
    keys.serials[3] = LAST - 1
    assert model.command(Command.ALLOC_MR, make_window_args(3, 5)).out[0] == 0xFFFF_F003
    assert run(model, A, local("FastRegister", 0xFFFF_F003, Segment(0, 1))) == [KEYS]
    assert model.command(Command.DEREGISTER_MR, make_region_args(3)).result is OK
    assert model.command(Command.ALLOC_MR, make_window_args(3, 5)).result is NO_KEYS
    config = RegionConfig(BASE, 1, 5)
    assert model.command(Command.REGISTER_MR, make_region_args(3, config)).result is NO_KEYS
    with pytest.raises(ModelError):
        keys.allocate(3, 5)


# -- statuses: each fault alone, and pairs for the order -----------------------------------------


def provoke_bind(*faults: str) -> int:
    """The status of one Bind with all of these faults."""
    model = engine()
    target = WINDOW
    if "ALREADY_VALID" in faults:
        target = bound(model)
    if "NO_KEYS" in faults:
        keys = model.table
        window = keys.windows[0]
        assert window is not None
        target = LAST << 12 | 0x800
        keys.windows[0] = type(window)(target, zone=5, valid=window.valid)
        keys.window_serials[0] = LAST
    q = model.posting.qps[A]
    if "INVALID_TOKEN" in faults:
        q.zone = 6
    key = FOREIGN if "INVALID_TOKEN" in faults else REGION
    post = bind_post(target, key, length=0 if "BAD_MEMORY" in faults else 1)
    return run(model, A, post)[0]


def test_order_of_bind_faults() -> None:
    names = [s.name for s in KEY_STATUSES if s]
    assert provoke_bind() == 0
    for name in names:
        assert provoke_bind(name) == Status[name]
    for first, second in itertools.combinations(names, 2):
        assert provoke_bind(first, second) == Status[first]
    assert provoke_bind(*names) == INVALID


def provoke_register(*faults: str) -> int:
    """The status of one FastRegister with all of these faults."""
    model = engine()
    target, keys = FAST, model.table
    if "ALREADY_VALID" in faults:
        assert run(model, A, local("FastRegister", FAST, Segment(0, 1))) == [0]
        target += NEXT
    if "NO_KEYS" in faults:
        region = keys.regions[3]
        assert region is not None
        target = LAST << 12 | 3
        keys.regions[3] = type(region)(target, region.config, region.valid, True)
        keys.serials[3] = LAST
    if "INVALID_TOKEN" in faults:
        model.posting.qps[A].zone = 6
    segment = Segment(0, 0 if "BAD_MEMORY" in faults else 1)
    return run(model, A, local("FastRegister", target, segment))[0]


def test_order_of_register_faults() -> None:
    names = [s.name for s in KEY_STATUSES if s]
    assert provoke_register() == 0
    for name in names:
        assert provoke_register(name) == Status[name]
    for first, second in itertools.combinations(names, 2):
        assert provoke_register(first, second) == Status[first]
    assert provoke_register(*names) == INVALID


TOP = (1 << 64) - 1
BINDS = [
    # target, region's key, address, length, flags, status
    (WINDOW, REGION, BASE, LENGTH, READ | WRITE, 0),
    (SECOND, REGION, BASE, 1, 0, 0),
    (WINDOW, REGION, BASE + LENGTH - 1, 1, READ, 0),
    (WINDOW, BARE, BASE, LENGTH, READ, 0),  # the rights of the region do not matter
    (WINDOW, BARE, BASE, LENGTH, PostFlag.ALLOW_LOCAL_WRITE, 0),
    (WINDOW, BARE, BASE, LENGTH, WRITE, MEMORY),  # but remote write needs local write
    (WINDOW, BARE, BASE, LENGTH, READ | WRITE, MEMORY),
    (0, REGION, BASE, 1, READ, INVALID),
    (0x800, REGION, BASE, 1, READ, INVALID),  # generation 0 is none
    (WINDOW + NEXT, REGION, BASE, 1, READ, INVALID),  # a key that is still to come
    (0x1803, REGION, BASE, 1, READ, INVALID),  # not created
    (0x1804, REGION, BASE, 1, READ, INVALID),  # out of range
    (0xFFFF_FFFF, REGION, BASE, 1, READ, INVALID),
    (STRANGE, REGION, BASE, 1, READ, INVALID),  # of another zone
    (REGION, REGION, BASE, 1, READ, INVALID),  # a region's key
    (FAST, REGION, BASE, 1, READ, INVALID),
    (WINDOW, FOREIGN, BASE, 1, READ, MEMORY),  # of another zone
    (WINDOW, FAST, BASE, 1, READ, MEMORY),  # not valid
    (WINDOW, REGION + NEXT, BASE, 1, READ, MEMORY),
    (WINDOW, 0, BASE, 1, READ, MEMORY),
    (WINDOW, WINDOW, BASE, 1, READ, MEMORY),  # a window's key
    (WINDOW, SECOND, BASE, 1, READ, MEMORY),
    (WINDOW, REGION, BASE, 0, READ, MEMORY),
    (WINDOW, REGION, BASE - 1, 1, READ, MEMORY),
    (WINDOW, REGION, BASE - 1, 2, READ, MEMORY),
    (WINDOW, REGION, BASE, LENGTH + 1, READ, MEMORY),
    (WINDOW, REGION, BASE + LENGTH, 1, READ, MEMORY),
    (WINDOW, REGION, BASE + LENGTH - 1, 2, READ, MEMORY),
    (WINDOW, REGION, TOP, 2, READ, MEMORY),
    (WINDOW, REGION, 0, 1 << 31, READ, MEMORY),
]


@pytest.mark.parametrize(("target", "key", "address", "length", "flags", "status"), BINDS)
def test_bind(target: int, key: int, address: int, length: int, flags: int, status: int) -> None:
    model = engine()
    before = (list(model.table.windows), list(model.table.regions))
    assert run(model, A, bind_post(target, key, address, length, flags)) == [status]
    if status:
        assert (model.table.windows, model.table.regions) == before
        assert model.posting.qps[A].state == 5
        return
    window = model.table.valid_window(target + NEXT)
    assert window is not None
    assert (window.qp, window.base, window.length) == (A, address, length)
    assert window.rights == (2 if flags & READ else 0) | (4 if flags & 0x20 else 0)
    assert window.region == key & 0x7FF
    assert not model.table.is_valid(target)


def test_bind_of_a_range_at_the_top() -> None:
    """The region's last byte is the last of all 2^64; ranges do not wrap."""
    model = engine()
    args = make_region_args(2, RegionConfig((1 << 64) - 4, 4, 5, 1))
    assert model.command(Command.DEREGISTER_MR, make_region_args(2)).result is OK
    key = model.command(Command.REGISTER_MR, args).out[0]
    for qp, (address, length, status) in zip(
        (A, B), ((TOP - 3, 4, 0), (TOP, 2, MEMORY)), strict=True
    ):
        assert run(model, qp, bind_post(WINDOW + qp, key, address, length)) == [status]


@pytest.mark.parametrize(
    ("target", "segment", "status"),
    [
        (FAST, Segment(BASE, 1), 0),
        (FAST, Segment(0, 1 << 31), 0),
        (FAST, Segment(TOP, 1), 0),
        (FAST, Segment(TOP - 4, 5), 0),
        (FAST, Segment(TOP - 4, 6), MEMORY),
        (FAST, Segment(TOP, 2), MEMORY),
        (FAST, Segment(BASE, 0), MEMORY),
        (FAST, None, MEMORY),
        (FAST + NEXT, Segment(BASE, 1), INVALID),
        (3, Segment(BASE, 1), INVALID),
        (REGION, Segment(BASE, 1), INVALID),  # registered, not allocated
        (WINDOW, Segment(BASE, 1), INVALID),
        (0x1803, Segment(BASE, 1), INVALID),
        (0x1004, Segment(BASE, 1), INVALID),
    ],
)
def test_fast_register(target: int, segment: Segment | None, status: int) -> None:
    model = engine()
    flags = READ | WRITE | PostFlag.RDMA_READ_SINK
    assert run(model, A, local("FastRegister", target, segment, flags)) == [status]
    if status:
        assert model.posting.qps[A].state == 5
        return
    region = model.table.find(FAST + NEXT)
    assert region is not None
    assert segment is not None
    config = RegionConfig(segment.address, segment.length, 5, 7)
    assert (region.config, region.qp, region.allocated) == (config, A, True)
    out = model.command(Command.QUERY_MR, make_region_args(3)).out
    base, length = segment.address, segment.length
    words = (base & 0xFFFF_FFFF, base >> 32, length, 0)
    assert out == (FAST + NEXT, *words, 0x7_0005, A | 0b11 << 16, 0)


def test_bind_without_a_segment_and_foreign_zones() -> None:
    model = engine()
    assert run(model, A, local("Bind", WINDOW)) == [MEMORY]
    assert run(model, OTHER, bind_post(WINDOW, FOREIGN)) == [INVALID]
    model = engine()
    assert run(model, OTHER, bind_post(STRANGE, FOREIGN)) == [0]
    assert run(model, OTHER, local("FastRegister", FAST, Segment(0, 1))) == [INVALID]


@pytest.mark.parametrize(
    ("flags", "rights"),
    [
        (0, 0),
        (PostFlag.ALLOW_LOCAL_WRITE, 1),
        (PostFlag.RDMA_READ_SINK, 1),
        (READ, 2),
        (WRITE, 5),
        (READ | WRITE, 7),
        (READ | PostFlag.RDMA_READ_SINK, 3),
    ],
)
def test_rights_of_flags(flags: int, rights: int) -> None:
    assert rights_of(local("FastRegister", flags=flags)) == rights


INVALIDATES = [
    # what is there, who, token, status
    ("nothing", A, WINDOW, INVALID),
    ("window", A, WINDOW + NEXT, 0),
    ("window", B, WINDOW + NEXT, INVALID),
    ("window", OTHER, WINDOW + NEXT, INVALID),
    ("window", A, WINDOW, INVALID),
    ("window", A, WINDOW + 2 * NEXT, INVALID),
    ("window", A, REGION, INVALID),
    ("nothing", A, FAST, INVALID),
    ("region", A, FAST + NEXT, 0),
    ("region", B, FAST + NEXT, INVALID),
    ("region", A, FAST, INVALID),
    ("both", A, FAST + NEXT, INVALID),  # a window is bound to it
    ("both", A, WINDOW + NEXT, 0),
    ("nothing", A, REGION, INVALID),
    ("nothing", A, 0, INVALID),
    ("nothing", A, 0xFFFF_FFFF, INVALID),
]


@pytest.mark.parametrize("by", By)
@pytest.mark.parametrize(("there", "qp", "token", "status"), INVALIDATES)
def test_invalidate(there: str, qp: int, token: int, status: int, by: By) -> None:
    model = engine()
    keys = model.table
    if there != "nothing" and there != "window":
        assert run(model, A, local("FastRegister", FAST, Segment(BASE, 9), READ)) == [0]
    if there != "nothing" and there != "region":
        key = FAST + NEXT if there == "both" else REGION
        assert run(model, A, bind_post(WINDOW, key, BASE, 4)) == [0]
    before = list(keys.windows), list(keys.regions)
    counted = keys.invalidated
    step = keys.invalidate(qp, token, by)
    assert step.code == status
    assert step.operand == status | (by is By.PEER) << 8 | (by is By.READ) << 9
    assert keys.invalidated == counted + (status == 0)
    if status:
        assert (keys.windows, keys.regions) == before
        assert step.before == step.after
    else:
        assert not keys.is_valid(token)
        assert (step.before.valid, step.after.valid) == (True, False)
        assert step.context == (CONTEXT if token & 0x800 else 0)
        assert keys.invalidate(qp, token, by).code == INVALID
