# SPDX-License-Identifier: Apache-2.0
"""What the worlds with queue pairs share: their names, their commands, and how outcomes name what
is seen.
"""

from __future__ import annotations

from models.codes import CommandResult, QpState
from models.post.qp import QpModel
from models.post.qp_types import StateStep

NAMES = "ab"  #: of the queue pairs
PEER = 0
FOREIGN = 1  #: a page that owns nothing
OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)

Answer = tuple[CommandResult, StateStep | None]


def result_word(result: CommandResult) -> str:
    """A command's result as outcomes name it."""
    return result.name.removeprefix("CMD_")


def term_words(*steps: StateStep | None) -> list[str]:
    """Terminate requests of these steps."""
    return [f"term {step.term_state.name}" for step in steps if step is not None and step.term]


def qp_command(qp: QpModel, word: str, peer: int = PEER, receiving: bool = False) -> Answer:
    """A command of a queue pair by the word of its action; ``receiving``: buffers are in flight."""
    if qp.state is QpState.FREE and word != "destroy":
        return CommandResult.CMD_NO_OBJECT, None
    match word:
        case "connect":
            return qp.connect(peer)
        case "idle":
            return qp.set_state(QpState.IDLE, receiving=receiving)
        case "pending":
            return qp.set_state(QpState.DISCONNECT_PENDING)
        case "disconnect":
            return qp.set_state(QpState.DISCONNECTED)
        case "flush":
            return qp.flush()
    return qp.destroy(receiving=receiving)
