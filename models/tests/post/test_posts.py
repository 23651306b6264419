# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/posting.md: request types, read from the page; layout and causes, written out
a second time.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import reduce
from itertools import combinations
from operator import or_
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.codes import ALLOW_REMOTE_WRITE, POST_CAUSES, Cause, PostFlag
from models.layouts import PAGE_BYTES
from models.post.post import Post, Segment, inline_slots, slots_of
from models.post.post_check import static_faults
from models.post.posting import PostingModel
from models.post.qp import QpConfig
from models.tests.post.posting_helpers import SMALL, STROBES, deferred, request, small_model
from models.verb import VERB_CAUSES, Limits, Verb
from models.verbs import BY_NAME, VERBS, verbs_of
from scripts.defdocs import read_tables, unwrap

PAGE = Path(__file__).parents[3] / "docs" / "posting.md"


class Row(NamedTuple):
    """A request type as the page has it."""

    opcode: int
    name: str
    kind: str
    least: int
    most: int
    exact: int | None
    target: bool
    inline: int
    transfers: bool
    flags: int
    result_type: int

    @classmethod
    def read(cls, cells: list[str]) -> Row:
        """A row of the table."""
        opcode, name, kind, segments, length, target, inline, nbytes, flags, result_type = cells
        least, _, most = segments.partition(" to ")
        return cls(
            int(opcode, 16),
            name,
            kind,
            int(least),
            int(most or least),
            None if length == "any" else int(length),
            target != "-",
            0 if inline == "-" else int(inline),
            {"length": True, "0": False}[nbytes],
            reduce(or_, (FLAGS[flag] for flag in flags.split(", ") if flag != "-"), 0),
            int(result_type, 16),
        )


#: Flags by their names on the page.
FLAGS = {**PostFlag.__members__, "ALLOW_REMOTE_WRITE": ALLOW_REMOTE_WRITE}
_TABLES = read_tables(unwrap(PAGE.read_text()))
_TABLE = next(table for table in _TABLES if table.columns[:2] == ("opcode", "request"))
TABLE = [Row.read([*row.values()]) for row in _TABLE.rows]
MOST = 1 << 31

#: A request with one segment of 8 bytes, and one of two segments or 16 bytes inline.
ADD = Verb("FetchAndAdd", 0x7E, 0x4000, min_segments=1, max_segments=1, exact_length=8)
PAIR = Verb(
    "Pair",
    0x7F,
    0x4001,
    flags=PostFlag.INLINE,
    min_segments=2,
    max_segments=2,
    max_inline=16,
    exact_length=16,
)


def test_request_types() -> None:
    """The request types are those of the page."""
    local = {True: "keys", False: "local"}
    got = [
        Row(
            v.opcode,
            v.name,
            local[v.changes_keys] if v.local else "read" if v.is_read else "remote",
            v.min_segments,
            v.max_segments,
            v.exact_length,
            v.has_target,
            v.max_inline,
            v.transfers,
            v.flags,
            v.result_type,
        )
        for v in VERBS.values()
    ]
    wrong = [
        f"{row.name}: models/verbs {row}, docs/posting.md {TABLE[at] if at < len(TABLE) else None}"
        for at, row in enumerate(got)
        if row not in TABLE[at : at + 1]
    ]
    assert not wrong, "\n".join(wrong)
    assert got == TABLE


def test_flag_values() -> None:
    names = "SILENT_SUCCESS READ_FENCE SEND_AND_SOLICIT_EVENT ALLOW_REMOTE_READ ALLOW_LOCAL_WRITE"
    values = [PostFlag[name] for name in names.split()]
    assert values == [1, 2, 4, 8, 0x10]
    names = "INLINE RDMA_READ_SINK RDMA_READ_LOCAL_INVALIDATE DEFER"
    assert [PostFlag[name] for name in names.split()] == [0x40, 0x80, 0x100, 0x200]


def test_layout() -> None:
    slots = slots_of([Segment(0x1122, 0x33, 0x44), Segment(0x5566, 0x77, 0x88)], Segment(9, 0, 10))
    post = Post(0x07, 2, 0x203, 0x1234, 0, 0, 0xFEDC_BA98_7654_3210, slots)
    word = post.encode()
    for low, width, value in (
        (0, 8, 0x07),
        (8, 8, 2),
        (16, 16, 0x203),
        (32, 16, 0x1234),
        (48, 8, 0),
        (56, 8, 0),
        (64, 64, 0xFEDC_BA98_7654_3210),
        (128, 64, 0x1122),
        (192, 32, 0x33),
        (224, 32, 0x44),
        (256, 64, 0x5566),
        (320, 32, 0x77),
        (352, 32, 0x88),
        (384, 64, 9),
        (448, 32, 0),
        (480, 32, 10),
    ):
        assert word >> low & (1 << width) - 1 == value, low
    assert post.length == 0x33 + 0x77
    assert Post(5, inline_bytes=0xAB, reserved=0xCD).encode() >> 48 == 0xCDAB


@given(st.integers(0, (1 << 512) - 1))
@settings(max_examples=100, deadline=None)
def test_every_word_is_a_post(word: int) -> None:
    assert Post.decode(word).encode() == word


@pytest.mark.parametrize(
    "post", [Post(256), Post(0, flags=1 << 16), Post(0, slots=(1 << 128, 0, 0))]
)
def test_fields_that_do_not_fit(post: Post) -> None:
    with pytest.raises(OverflowError):
        post.encode()


def test_inline_data() -> None:
    data = bytes(range(1, 49))
    post = Post(5, flags=PostFlag.INLINE, inline_bytes=48, slots=inline_slots(data))
    assert post.inline_data == data
    assert post.encode() >> 128 == int.from_bytes(data, "little")
    assert post.length == 48
    short = Post(7, flags=PostFlag.INLINE, inline_bytes=5, slots=inline_slots(data[:5], Segment(3)))
    assert short.inline_data == data[:5]
    assert short.slots[2] == 3


@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_every_flag_word(row: Row) -> None:
    """All 65536 flag words of each request type against the table."""
    legal, least = int(row.flags) | 0x203, VERBS[row.opcode].least()
    for flags in range(1 << 16):
        good = flags & ~legal == 0 and (flags & 0x30) != 0x20
        wrong = Cause.BAD_FLAGS in set(static_faults(replace(least, flags=flags)))
        assert wrong is not good, hex(flags)


def test_every_opcode() -> None:
    known = {row.opcode for row in TABLE}
    for opcode in range(256):
        bad = list(static_faults(Post(opcode))) == [Cause.BAD_OPCODE]
        assert bad is (opcode not in known)


@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_segments_and_lengths(row: Row) -> None:
    opcode, total = row.opcode, MOST if row.exact is None else row.exact
    for count in range(256):
        slots = slots_of([Segment(0, row.exact or 0)])
        cause = next(iter(static_faults(Post(opcode, count, slots=slots))), None)
        few = count < row.least or (not count and row.exact)
        wanted = Cause.TOO_MANY_SEGMENTS if count > row.most else Cause.BAD_LENGTH if few else None
        assert cause is wanted, count
    for count in range(max(1, row.least), row.most + 1):
        parts = [Segment(0, total // count) for _ in range(count - 1)]
        parts.append(Segment(0, total - sum(p.length for p in parts)))
        good = Post(opcode, count, slots=slots_of(parts))
        assert good.length == total
        assert not list(static_faults(good))
        parts[0] = Segment(0, parts[0].length + 1)
        bad = Post(opcode, count, slots=slots_of(parts))
        assert list(static_faults(bad)) == [Cause.BAD_LENGTH]
    least = VERBS[opcode].least()
    for nbytes in range(1, 256):
        assert list(static_faults(replace(least, inline_bytes=nbytes))) == [Cause.BAD_LENGTH]
    for nbytes in range(256) if row.inline else ():
        post = Post(opcode, flags=PostFlag.INLINE, inline_bytes=nbytes)
        fits = nbytes <= row.inline and row.exact in (None, nbytes)
        assert list(static_faults(post)) == ([] if fits else [Cause.BAD_LENGTH])
        with_segment = Post(opcode, 1, PostFlag.INLINE, inline_bytes=nbytes)
        assert static_faults(with_segment)[0] is Cause.TOO_MANY_SEGMENTS


def test_unused_slots_are_ignored() -> None:
    full = (1 << 128) - 1
    for verb in VERBS.values():
        post = verb.least()
        slots = [full if n >= post.num_segments else post.slots[n] for n in range(3)]
        assert not list(static_faults(replace(post, slots=(slots[0], slots[1], slots[2]))))


@pytest.mark.parametrize("verb", [*VERBS.values(), ADD, PAIR], ids=lambda verb: verb.name)
def test_random_posts_are_legal_and_reach_all_bins(
    verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERBS, verb.opcode, verb)
    rng = random.Random(verb.opcode)
    hit: set[str] = set()
    for _ in range(2500):
        post = verb.fields(rng, Limits(qp=rng.randrange(4)))
        assert not list(static_faults(post))
        assert Post.decode(post.encode()) == post
        hit.update(verb.bins(post))
        hit.update(verb.bins(post, rng.choice(VERB_CAUSES)))
        hit.update(verb.bins(post, status=rng.choice((0, 1) if verb.local else (0, 1, 2, 77))))
    assert hit == set(verb.all_bins())
    assert len(set(verb.all_bins())) == len(verb.all_bins())


@pytest.mark.parametrize("verb", VERBS.values(), ids=list(BY_NAME))
def test_least_posts_are_legal(verb: Verb) -> None:
    for flags in (0, PostFlag.INLINE) if verb.max_inline else (0,):
        assert not list(static_faults(verb.least(flags, 3)))


@pytest.mark.parametrize(
    ("verb", "lengths", "cause"),
    [
        (ADD, [8], None),
        (ADD, [], Cause.BAD_LENGTH),
        (ADD, [7], Cause.BAD_LENGTH),
        (ADD, [9], Cause.BAD_LENGTH),
        (ADD, [0], Cause.BAD_LENGTH),
        (ADD, [8, 0], Cause.TOO_MANY_SEGMENTS),
        (PAIR, [16, 0], None),
        (PAIR, [8, 8], None),
        (PAIR, [16], Cause.BAD_LENGTH),
        (PAIR, [8, 9], Cause.BAD_LENGTH),
        (PAIR, [8, 8, 0], Cause.TOO_MANY_SEGMENTS),
    ],
)
def test_least_and_exact(
    verb: Verb, lengths: list[int], cause: Cause | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DF-14: too few segments and another length are BAD_LENGTH."""
    monkeypatch.setitem(VERBS, verb.opcode, verb)
    post = Post(verb.opcode, len(lengths), slots=slots_of([Segment(0, n) for n in lengths]))
    assert next(iter(static_faults(post)), None) is cause
    for nbytes in (0, 15, 16, 17) if verb.max_inline else ():
        post = Post(verb.opcode, flags=PostFlag.INLINE, inline_bytes=nbytes)
        assert list(static_faults(post)) == ([] if nbytes == 16 else [Cause.BAD_LENGTH])


@pytest.mark.parametrize(
    "fields",
    [
        {"opcode": 0},
        {"opcode": 0xFF},
        {"local": True, "is_read": True},
        {"max_segments": 4},
        {"max_segments": 3, "has_target": True},
        {"min_segments": 2, "max_segments": 1},
        {"max_inline": 49},
        {"exact_length": 1},
        {"max_segments": 1, "exact_length": MOST + 1},
    ],
)
def test_impossible_request_types(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="Odd: "):
        Verb(**{"name": "Odd", "opcode": 0x7F, "result_type": 0x4000, **fields})  # type: ignore[arg-type]


def test_limits() -> None:
    rng = random.Random(1)
    for verb in VERBS.values():
        most = 10 if verb.exact_length is None else verb.exact_length
        for _ in range(300):
            post = verb.fields(rng, Limits(3, flags=0x201, need=0x200, max_length=10))
            assert post.qp == 3
            assert post.flags & ~0x1 == 0x200
            assert verb.length(post) <= most


def test_completions() -> None:
    for row in TABLE:
        verb = VERBS[row.opcode]
        nbytes = 0 if not row.most else 150 if row.exact is None else row.exact
        segments = [Segment(0, nbytes), *[Segment()] * (row.least - 1)] if row.most else []
        post = Post(row.opcode, len(segments), slots=slots_of(segments))
        done = verb.completion(post, 0)
        assert (done.type, done.nbytes) == (row.result_type, nbytes if row.transfers else 0)
        for status in (1, 2, 255):
            failed = verb.completion(post, status)
            assert (failed.type, failed.nbytes) == (row.result_type, 0)


# -- causes ------------------------------------------------------------------------------------

ORDER = [
    (0x01, "BURST"),
    (0x02, "BAD_SIZE"),
    (0x03, "BAD_PAGE"),
    (0x04, "BAD_OFFSET"),
    (0x0D, "BAD_QP"),
    (0x0E, "NO_QP"),
    (0x09, "NOT_OWNER"),
    (0x17, "DEVICE_REMOVED"),
    (0x05, "RESERVED_BITS"),
    (0x0F, "BAD_OPCODE"),
    (0x10, "BAD_FLAGS"),
    (0x11, "TOO_MANY_SEGMENTS"),
    (0x12, "BAD_LENGTH"),
    (0x13, "NOT_CONNECTED"),
    (0x14, "QUEUE_FULL"),
    (0x15, "CQ_ERROR"),
    (0x16, "NO_CREDIT"),
]
NAMES = [name for _, name in ORDER if name != "DEVICE_REMOVED"]


def test_cause_codes() -> None:
    assert [(int(c), c.name) for c in POST_CAUSES] == [(0, "OK"), *ORDER]


def provoke(*faults: str) -> Cause:
    """The cause for one write with all of these faults."""
    model = small_model()
    full = "QUEUE_FULL" in faults
    number = 0
    if full:
        for _ in range(4):
            model.qps[0].post(deferred())
    if "NOT_CONNECTED" in faults:
        model.qps[0].flush()
    if "NO_QP" in faults:
        model.qps[0].destroy()  # FREE, or DESTROYING if it is full
    if "BAD_QP" in faults:
        number = SMALL.num_qp
    post = Post(
        opcode=0 if "BAD_OPCODE" in faults else 5,
        num_segments=4 if "TOO_MANY_SEGMENTS" in faults else 0,
        flags=0x400 if "BAD_FLAGS" in faults else 0,
        qp=number,
        inline_bytes=1 if "BAD_LENGTH" in faults else 0,
        reserved=0x80 if "RESERVED_BITS" in faults else 0,
    )
    page = SMALL.num_pages if "BAD_PAGE" in faults else 2 if "NOT_OWNER" in faults else 1
    offset = 0xC0 if "BAD_OFFSET" in faults else 0
    result = model.write(
        page * PAGE_BYTES + offset,
        1 if "BURST" in faults else 0,
        6,
        STROBES >> ("BAD_SIZE" in faults),
        post.encode(),
        credit="NO_CREDIT" not in faults,
        cq_error="CQ_ERROR" in faults,
    )
    assert result is not None
    assert model.causes[result.cause] == 1
    assert model.posts == (result.cause is Cause.OK)
    return result.cause


def test_no_fault() -> None:
    assert provoke() is Cause.OK


@pytest.mark.parametrize("name", NAMES)
def test_each_cause(name: str) -> None:
    assert provoke(name) is Cause[name]


@pytest.mark.parametrize(("first", "second"), list(combinations(NAMES, 2)))
def test_precedence_of_pairs(first: str, second: str) -> None:
    """DF-14: of two causes the one that comes first in the table is given."""
    assert provoke(first, second) is Cause[first]


def test_all_faults_from_each_on() -> None:
    for start, name in enumerate(NAMES):
        assert provoke(*NAMES[start:]) is Cause[name]


@pytest.mark.parametrize(
    ("offset", "size", "strobes", "cause"),
    [
        (0x000, 6, STROBES, Cause.OK),
        (0x000, 5, STROBES, Cause.BAD_SIZE),
        (0x000, 3, 0xFF, Cause.BAD_SIZE),
        (0x000, 6, STROBES - 1, Cause.BAD_SIZE),
        (0x000, 7, STROBES, Cause.BAD_SIZE),
        (0x040, 6, STROBES, Cause.BAD_OFFSET),
        (0x080, 6, STROBES, Cause.BAD_OFFSET),
        (0x0C0, 6, STROBES, Cause.BAD_OFFSET),
        (0x0C0, 3, 0xFF, Cause.BAD_SIZE),
        (0x008, 3, 0xFF00, None),
        (0x100, 6, STROBES, None),
        (0x140, 3, 0xFF, None),
    ],
)
def test_portals(offset: int, size: int, strobes: int, cause: Cause | None) -> None:
    """Which writes are posts, and their size rule; None: judged as a doorbell."""
    result = small_model().write(PAGE_BYTES + offset, 0, size, strobes, request("Send").encode())
    assert (result and result.cause) is cause


def test_check_changes_nothing() -> None:
    model = PostingModel(SMALL)
    beat = request("Send", qp=3).encode()
    assert model.check(beat, 0) is Cause.NO_QP
    assert model.check(request("Send", qp=4).encode(), 0) is Cause.BAD_QP
    model.qps[3].create(QpConfig(page=0))
    assert model.check(beat, 1) is Cause.NOT_OWNER
    assert model.check(beat, 0) is Cause.NOT_CONNECTED
    model.qps[3].connect(1)
    assert model.check(beat, 0, credit=False) is Cause.NO_CREDIT
    assert model.check(beat, 0) is Cause.OK
    assert model.qps[3].tail == 0


@pytest.mark.parametrize(
    ("opcode", "told"),
    [
        (None, r"models/verbs/nop\.py: no VERB = Verb\(\.\.\.\)"),
        (0x05, r"models/verbs: nop\.py and send\.py have the same opcode 0x05: choose a free one"),
        (0x08, r"models/verbs: nop\.py and send\.py have the same name Send"),
    ],
)
def test_files_of_verbs_are_told_apart(opcode: int | None, told: str) -> None:
    """A file next to that of Send without a verb, or with its opcode or its name."""
    send = BY_NAME["Send"]
    nop = {} if opcode is None else {"VERB": replace(send, opcode=opcode)}
    with pytest.raises((TypeError, ValueError), match=told):
        verbs_of({"nop": SimpleNamespace(**nop), "send": SimpleNamespace(VERB=send)})
