# SPDX-License-Identifier: Apache-2.0
"""The world of deferral: one queue pair with a short send queue, a transport that reports when it
is told to, and a work port that can stand still.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from models.codes import PostFlag, QpState
from models.params import Params
from models.post.post import Post
from models.post.qp import QpConfig, QpModel
from models.verbs import BY_NAME
from tb.tours.words import FOREIGN, qp_command

DEFER = int(PostFlag.DEFER)
PARAMS = Params(num_qp=1, num_pages=2)


def _post(name: str, flags: int = 0) -> Post:
    return Post(BY_NAME[name].opcode, flags=int(flags))


#: Requests by name.
POSTS = {
    "send": _post("Send"),
    "read": _post("Read"),
    "fenced": _post("Send", PostFlag.READ_FENCE),
    "silent": _post("Write", PostFlag.SILENT_SUCCESS),
    "local": _post("FastRegister"),
    "fencedlocal": _post("Invalidate", PostFlag.READ_FENCE),
}
#: Posts that fail whatever the state.
BAD = {"flags": _post("Send", 0x108), "opcode": Post(0xFF, flags=DEFER)}
#: Commands that are legal in a state, "idle" and "destroy" in others; and all of them.
LEGAL = {
    QpState.FREE: ("create",),
    QpState.IDLE: ("connect", "destroy"),
    QpState.CONNECTED: ("pending", "disconnect", "flush", "destroy"),
    QpState.DISCONNECT_PENDING: ("disconnect", "flush", "destroy"),
}
COMMANDS = ("create", "connect", "idle", "pending", "disconnect", "flush", "destroy")
_NAMES = {(post.opcode, post.flags): name for name, post in POSTS.items()}


def name_of(post: Post) -> str:
    """The name of a request."""
    return _NAMES[post.opcode, post.flags & ~DEFER]


@dataclass(frozen=True)
class Setup:
    """``kinds``: requests; ``slots`` of the send queue; ``watermark``; ``stalls``: the work port
    can stand still; ``commands``: every command in every state, also those that are refused.
    """

    kinds: tuple[str, ...] = ("send",)
    slots: int = 2
    watermark: int = 0
    stalls: bool = False
    commands: bool = False


def key_of(qp: QpModel, stalled: bool) -> Hashable:
    """The state of a queue pair at rest, without its counters."""
    requests = []
    for r in qp.requests:
        if r.skipped:
            late = qp.late == r.number
            where = "offered" + " last" * r.last if late else "skipped"
        elif r.number >= qp.released:
            where = "held"
        elif not r.indicated:
            where = "last" if r.last else "released"
        else:
            where = "taken" if r.status is None else f"status {r.status}"
        requests.append((name_of(r.post), where))
    return (qp.state.name, *["failed"] * qp.failed, *["stalled"] * stalled, *requests)


class DeferralWorld:
    """The model of the queue pair."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.qp = QpModel(0, PARAMS)
        self.stalled = False
        self._create()
        qp_command(self.qp, "connect")

    def key(self) -> Hashable:
        """See :func:`key_of`."""
        return key_of(self.qp, self.stalled)

    # -- what can happen ---------------------------------------------------------------------------

    def actions(self) -> Iterator[str]:
        """Everything that host and transport can do."""
        qp, setup = self.qp, self.setup
        connected = qp.state is QpState.CONNECTED
        for kind in setup.kinds if connected else setup.kinds[:1]:
            yield f"post {kind}"
            yield f"post {kind} deferred"
        yield from (f"bad {kind}" for kind in BAD)
        yield "foreign"
        yield "stray"
        yield "event"
        if self._unreported:
            yield "report 0"
            yield "report 2"
        if qp.held and connected:
            yield "age"
        if setup.stalls:
            yield "go" if self.stalled else "stall"
        yield from COMMANDS if setup.commands else LEGAL.get(qp.state, ("idle", "destroy"))

    @property
    def _unreported(self) -> bool:
        return any(r.tag is not None and r.status is None for r in self.qp.requests)

    # -- doing it ----------------------------------------------------------------------------------

    def act(self, action: str) -> str:
        """Does it, and what follows; returns the answer."""
        answer = self._do(*action.split())
        qp = self.qp
        moved = True
        while moved:
            late = qp.late is not None and any(r.number == qp.late for r in qp.requests)
            moved = True
            if not self.stalled and (late or qp.next_indication() is not None):
                qp.indicate(late)
            elif qp.retirable and not (late and qp.late == qp.requests[0].number):
                qp.retire()
            else:
                moved = False
        return answer

    def _do(self, word: str, *rest: str) -> str:
        qp = self.qp
        match word:
            case "post":
                post = POSTS[rest[0]]
                post = Post(post.opcode, flags=post.flags | DEFER * (len(rest) > 1))
                return qp.post(post, 0).cause.name
            case "bad":
                return qp.post(BAD[rest[0]], 0).cause.name
            case "foreign":
                return qp.post(POSTS["send"], FOREIGN).cause.name
            case "report":
                tag = next(r.tag for r in qp.requests if r.tag is not None and r.status is None)
                qp.report(PARAMS.index(tag), int(rest[0]))
            case "event":
                qp.disconnected()
            case "age":
                qp.modify(self.setup.watermark, 1)
                qp.age()
                qp.modify(self.setup.watermark, 0)
            case "stall" | "go":
                self.stalled = word == "stall"
            case "create":
                return self._create()
            case _ if word in COMMANDS:
                return qp_command(qp, word)
        return ""

    def _create(self) -> str:
        if self.qp.state is not QpState.FREE:
            return "EXISTS"
        self.qp.create(QpConfig(depth=self.setup.slots, watermark=self.setup.watermark))
        return "OK"
