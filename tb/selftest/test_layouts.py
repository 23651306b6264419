# SPDX-License-Identifier: Apache-2.0
"""The model packs words by itself, from the documents; bench and RTL have their layouts from
the register map. Each word is packed both ways, every field with a value of its own.
"""

from __future__ import annotations

import pytest

from models.post.post import Post
from models.receive.receive import pack_rdone, pack_reap
from models.receive.receive_post import RecvPost
from models.receive.receive_types import RecvRequest
from tb.env import defs

SLOTS = (0x1111 << 100 | 0xA, 0x2222 << 100 | 0xB, 0x3333 << 100 | 0xC)
_SLOTS = dict(zip(("slot0", "slot1", "slot2"), SLOTS, strict=True))
CONTEXT = 0xFEDC_BA98_7654_3210

WORDS = {
    "POST": (
        Post(0x15, 0x26, 0x3748, 0x59AB, 0x6C, 0, CONTEXT, SLOTS).encode(),
        defs.POST,
        {"opcode": 0x15, "segments": 0x26, "flags": 0x3748, "qp": 0x59AB, "inline_bytes": 0x6C}
        | {"context": CONTEXT, **_SLOTS},
    ),
    "RPOST": (
        RecvPost(0x59AB, 0x26, CONTEXT, SLOTS).encode(),
        defs.RPOST,
        {"segments": 0x26, "queue": 0x59AB, "context": CONTEXT, **_SLOTS},
    ),
    "RREQ": (
        RecvRequest(0x59AB, 0x1234_5678, True, False, 0x9ABC_DEF0).encode(),
        defs.RREQ,
        {"qp": 0x59AB, "length": 0x1234_5678, "solicited": 1, "token": 0x9ABC_DEF0},
    ),
    "RDONE": (
        pack_rdone(0x59AB, 0x1234, 0x56),
        defs.RDONE,
        {"qp": 0x59AB, "tag": 0x1234, "status": 0x56},
    ),
    "SRQ_DB": (pack_reap(0x59AB, 0x1234), defs.SRQ_DB, {"srq": 0x59AB, "index": 0x1234}),
}


@pytest.mark.parametrize("name", WORDS)
def test_model_and_register_map_pack_alike(name: str) -> None:
    word, layout, fields = WORDS[name]
    assert layout.pack(**fields) == word
