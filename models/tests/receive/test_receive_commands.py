# SPDX-License-Identifier: Apache-2.0
"""Commands of receiving: codes, reserved bits, order of the checks."""

from __future__ import annotations

import pytest

from models.codes import RECEIVE_COMMANDS, Command, CommandResult, TraceOp
from models.host.control import Args
from models.keys.region import RegionConfig
from models.post.qp import QpConfig
from models.post.qp_control import make_qp_args
from models.receive.receive_control import (
    USED_BITS,
    make_create_args,
    make_region_args,
    make_srq_args,
)
from models.receive.receive_types import RecvConfig, SrqConfig
from models.tests.receive.receive_helpers import (
    PAGE,
    receiving,
)

OK = CommandResult.OK


def test_codes() -> None:
    assert [int(c) for c in RECEIVE_COMMANDS] == [0x30, 0x31, 0x32, 0x33, 0x34, 0x40, 0x41, 0x42]
    assert [int(c) for c in TraceOp if 0x50 <= c < 0x70] == [0x50, 0x51, 0x58, 0x59, 0x5A, 0x60]
    results = {r.name: int(r) for r in CommandResult}
    assert [results[n] for n in ("CMD_NO_SRQ", "CMD_BAD_FLAG", "CMD_BAD_RANGE", "CMD_NO_KEYS")] == [
        0x52,
        0x53,
        0x54,
        0x55,
    ]
    assert receiving().command(0x35, make_srq_args(0)).result is CommandResult.CMD_UNKNOWN


@pytest.mark.parametrize("code", [int(c) for c in USED_BITS])
def test_reserved_bits_and_numbers(code: int) -> None:
    model = receiving()
    for word, bits in USED_BITS[code].items():
        for bit in range(32):
            if not bits >> bit & 1:
                words = [0] * 8
                words[word] = 1 << bit
                args = Args(tuple(words))
                assert model.command(code, args).result is CommandResult.CMD_RESERVED
    for number in (4, 16, 0xFFFF_FFFF):
        assert model.command(code, make_srq_args(number)).result is CommandResult.CMD_BAD_OBJECT
    if code == Command.CREATE_SRQ:
        assert model.command(code, make_srq_args(2)).result is CommandResult.CMD_BAD_OBJECT


@pytest.mark.parametrize(
    ("config", "result"),
    [
        (SrqConfig(1), "OK"),
        (SrqConfig(4, 0xFFFF, 3, 0xFFFF), "OK"),
        (SrqConfig(0), "CMD_BAD_SIZE"),
        (SrqConfig(5), "CMD_BAD_SIZE"),
        (SrqConfig(5, page=4), "CMD_BAD_SIZE"),
        (SrqConfig(4, page=4), "CMD_BAD_PAGE"),
    ],
)
def test_create_srq(config: SrqConfig, result: str) -> None:
    model = receiving()
    args = make_srq_args(1, config)
    assert model.command(Command.CREATE_SRQ, args).result is CommandResult[result]
    assert model.srqs[1].exists is (result == "OK")
    existing = model.command(Command.CREATE_SRQ, make_srq_args(0, config))
    assert existing.result is CommandResult.CMD_EXISTS


GOOD = QpConfig(1, 2, 3, PAGE, 4)


@pytest.mark.parametrize(
    ("config", "receive", "result"),
    [
        (GOOD, RecvConfig(9, 0), "OK"),
        (GOOD, RecvConfig(9, 4, None, 0x10), "OK"),
        (GOOD, RecvConfig(9, 0, 0, 4), "OK"),
        (GOOD, RecvConfig(9, 5), "CMD_BAD_SIZE"),
        (GOOD, RecvConfig(9, 1, 0), "CMD_BAD_SIZE"),
        (QpConfig(1, 2, 3, PAGE, 9), RecvConfig(9, 0, 1), "CMD_BAD_SIZE"),
        (QpConfig(1, 4, 3, PAGE, 4), RecvConfig(9, 0, 1), "CMD_NO_CQ"),
        (GOOD, RecvConfig(9, 0, 1), "CMD_NO_SRQ"),
        (GOOD, RecvConfig(9, 0, 0xFFFF), "CMD_NO_SRQ"),
        (QpConfig(1, 2, 3, 2, 4), RecvConfig(9, 0, 1), "CMD_NO_SRQ"),
        (QpConfig(1, 2, 3, 2, 4), RecvConfig(9, 0, 0, 1), "CMD_BAD_PAGE"),
        (QpConfig(1, 2, 3, 4, 4), RecvConfig(9, 0), "CMD_BAD_PAGE"),
        *((GOOD, RecvConfig(9, 0, 0, f), "CMD_BAD_FLAG") for f in (1, 3, 6, 8, 0x11, 0x14, 0x1F)),
    ],
)
def test_create_qp(config: QpConfig, receive: RecvConfig, result: str) -> None:
    model = receiving()
    args = make_create_args(3, config, receive)
    assert model.command(Command.CREATE_QP, args).result is CommandResult[result]
    query = model.command(Command.QUERY_QP, make_qp_args(3))
    if result != "OK":
        assert query.result is CommandResult.CMD_NO_OBJECT
        return
    assert query.out[3:] == args.words[3:]
    assert model.command(Command.CREATE_QP, args).result is CommandResult.CMD_EXISTS
    assert model.users(0) == 2 + (receive.srq == 0)


def test_create_qp_on_the_page_of_its_srq() -> None:
    model = receiving()
    model.command(Command.CREATE_SRQ, make_srq_args(1, SrqConfig(1, 0, 2)))
    args = make_create_args(3, GOOD, RecvConfig(9, 0, 1))
    assert model.command(Command.CREATE_QP, args).result is CommandResult.CMD_BAD_PAGE


def test_commands_on_what_does_not_exist() -> None:
    model = receiving()
    for code in RECEIVE_COMMANDS:
        if code not in (Command.CREATE_SRQ, Command.REGISTER_MR):
            number = 1 if code < Command.REGISTER_MR else 3
            assert model.command(code, make_srq_args(number)).result is CommandResult.CMD_NO_OBJECT
    args = make_region_args(0, RegionConfig(0, 1))
    assert model.command(Command.REGISTER_MR, args).result is CommandResult.CMD_EXISTS
