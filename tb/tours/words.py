# SPDX-License-Identifier: Apache-2.0
"""What the worlds with queue pairs share: their names, their commands, and how answers name
results.
"""

from __future__ import annotations

from models.codes import CommandResult, QpState
from models.post.qp import QpModel

NAMES = "ab"  #: of the queue pairs
PEER = 0
FOREIGN = 1  #: a page that owns nothing
OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)


def result_word(result: CommandResult) -> str:
    """A command's result as answers name it."""
    return result.name.removeprefix("CMD_")


def qp_command(qp: QpModel, word: str, peer: int = PEER, receiving: bool = False) -> str:
    """A command of a queue pair by the word of its action; ``receiving``: buffers are in flight."""
    if qp.state is QpState.FREE and word != "destroy":
        return "NO_OBJECT"
    match word:
        case "connect":
            result, _ = qp.connect(peer)
        case "idle":
            result, _ = qp.set_state(QpState.IDLE, receiving=receiving)
        case "pending":
            result, _ = qp.set_state(QpState.DISCONNECT_PENDING)
        case "disconnect":
            result, _ = qp.set_state(QpState.DISCONNECTED)
        case "flush":
            result, _ = qp.flush()
        case _:
            result, _ = qp.destroy(receiving=receiving)
    return result_word(result)
