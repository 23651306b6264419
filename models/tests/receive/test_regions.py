# SPDX-License-Identifier: Apache-2.0
"""Memory regions: keys, registration, query."""

from __future__ import annotations

import pytest

from models.codes import Command, CommandResult, ModelError
from models.keys.region import RegionConfig, RegionTable
from models.receive.receive import ReceiveModel
from models.receive.receive_control import make_region_args
from models.tests.receive.receive_helpers import SMALL


def test_keys_are_never_used_again() -> None:
    table = RegionTable(SMALL)
    config = RegionConfig(0, 1)
    keys = []
    for _ in range(3):
        keys.append(table.register(2, config))
        assert table.find(keys[-1]) is not None
        assert table.deregister(2) is CommandResult.OK
        assert all(table.find(key) is None for key in keys)
    assert keys == [0x1002, 0x2002, 0x3002]
    assert table.register(1, config) == 0x1001
    assert table.deregister(2) is CommandResult.CMD_NO_OBJECT
    table.serials[2] = 0xF_FFFE
    assert table.register(2, config) == 0xFFFF_F002
    table.deregister(2)
    assert table.check_register(2, config) is CommandResult.CMD_NO_KEYS
    with pytest.raises(ModelError):
        table.register(2, config)
    for key in (0, 2, 0x1003, 0x1004, 0xFFF, 0xFFFF_F002):
        assert table.find(key) is None


@pytest.mark.parametrize(
    ("base", "length", "rights", "result"),
    [
        (0, 1, 0, "OK"),
        (0, 1, 7, "OK"),
        (0, 1, 6, "CMD_BAD_FLAG"),
        (0, 1, 4, "CMD_BAD_FLAG"),
        (0, 1, 5, "OK"),
        (0, 1, 2, "OK"),
        (0, 0, 1, "CMD_BAD_RANGE"),
        (0, 0, 4, "CMD_BAD_FLAG"),
        ((1 << 64) - 1, 1, 1, "OK"),
        ((1 << 64) - 1, 2, 1, "CMD_BAD_RANGE"),
        (1 << 63, (1 << 48) - 1, 1, "OK"),
    ],
)
def test_register(base: int, length: int, rights: int, result: str) -> None:
    model = ReceiveModel(SMALL)
    config = RegionConfig(base, length, 0xABCD, rights)
    args = make_region_args(3, config)
    reply = model.command(Command.REGISTER_MR, args)
    assert reply.result is CommandResult[result]
    query = model.command(Command.QUERY_MR, make_region_args(3))
    if result != "OK":
        assert query.result is CommandResult.CMD_NO_OBJECT
        return
    assert reply.out[0] == 0x1003
    assert query.out == (0x1003, *args.words[1:6], 0, 0)
    assert model.command(Command.REGISTER_MR, args).result is CommandResult.CMD_EXISTS
