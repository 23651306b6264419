# SPDX-License-Identifier: Apache-2.0
"""What a host can tell by itself of its posts: answers and completions, told apart by contexts
that no two posts share. It uses neither the trace port nor the scoreboard.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from models.codes import Cause, PostFlag, Status
from models.cq.queue import NdResultEx
from models.post.post import Post
from models.verbs import VERBS
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp


@dataclass
class Posted:
    """One post. ``epoch``: connection of its QP; ``causes``: empty if it may be accepted."""

    post: Post
    answer: Pending[WriteResult]
    epoch: int
    causes: frozenset[Cause]

    @property
    def accepted(self) -> bool:
        """It was answered OKAY."""
        return self.answer.done and self.answer.result == (0, 0)


@dataclass
class Life:
    """A QP from creation to destruction."""

    qp: Qp
    posted: list[Posted] = field(default_factory=list)
    seen: list[NdResultEx] = field(default_factory=list)
    unanswered: deque[Posted] = field(default_factory=deque)
    open: deque[Posted] = field(default_factory=deque)
    """Perhaps outstanding, in post order."""
    epoch: int = 0
    left: int = 0
    """Posts to the end of the chain."""
    down: int = 0
    """Answers NOT_CONNECTED of this connection."""
    busy: bool = False
    """Commands are under way."""
    gone: bool = False
    """Destroyed, and comes again with another CQ; busy until then."""
    paused: bool = False
    """No legal posts."""
    lossy: bool = False
    """The CQ has failed: completions are missing."""


class Ledger:
    """All posts of a test."""

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.causes: Counter[Cause] = Counter()
        self.statuses: Counter[int] = Counter()
        self._by_context: dict[int, Life] = {}

    def context(self, life: Life) -> int:
        """A context for a post of this QP that no other post has."""
        context = len(self._by_context) + 1 << 16 | life.qp.number
        self._by_context[context] = life
        return context

    def posted(self, life: Life, entry: Posted) -> None:
        """A post was queued."""
        life.posted.append(entry)
        life.unanswered.append(entry)
        if not entry.causes:
            life.open.append(entry)

    def look(self, life: Life) -> list[Cause]:
        """Takes the answers that have come; returns their causes."""
        found: list[Cause] = []
        refused = False
        while life.unanswered and life.unanswered[0].answer.done:
            entry = life.unanswered.popleft()
            assert entry.answer.result is not None
            cause = Cause(entry.answer.result.cause)
            assert not entry.causes or cause in entry.causes, (
                f"{entry.post}: answered {cause.name}, not {entry.causes}"
            )
            refused = refused or cause is not Cause.OK
            if cause is Cause.NOT_CONNECTED and entry.epoch == life.epoch:
                life.down += 1
            self.causes[cause] += 1
            found.append(cause)
        if refused:
            life.open = deque(e for e in life.open if not e.answer.done or e.accepted)
        return found

    def completed(self, cq: int, result: NdResultEx) -> None:
        """A completion was polled."""
        life = self._by_context.get(result.request_context)
        assert life is not None, f"CQ {cq}: completion that nobody asked for: {result}"
        assert life.qp.cq.number == cq, f"CQ {cq}: completion of {life.qp.number}: {result}"
        assert result.qp_context == life.qp.context, f"CQ {cq}: wrong QP context: {result}"
        life.seen.append(result)
        self.statuses[result.status] += 1
        while life.open:
            entry = life.open.popleft()
            if entry.post.context == result.request_context:
                break

    def accepted(self, number: int | None = None) -> int:
        """Posts accepted, of one QP number over all its lives or of all."""
        lives = [life for life in self.lives if number in (None, life.qp.number)]
        return sum(entry.accepted for life in lives for entry in life.posted)

    def cq_failed(self, cq: Cq) -> None:
        """From now on completions of this CQ may be missing."""
        for life in self.lives:
            life.lossy = life.lossy or life.qp.cq is cq

    # -- the end -----------------------------------------------------------------------------------

    def check(self) -> None:
        """At rest: each accepted post has exactly one completion, in post order (DF-02, DF-03,
        DF-12, DF-15).
        """
        for life in self.lives:
            self.look(life)
            self._check(life)

    def _check(self, life: Life) -> None:
        assert not life.unanswered, f"QP {life.qp.number}: posts without an answer"
        seen = iter(life.seen)
        result = next(seen, None)
        failed = -1
        for entry in life.posted:
            if not entry.accepted:
                continue
            post = entry.post
            where = f"QP {life.qp.number}, post {post}"
            if result is None or result.request_context != post.context:
                if life.lossy:
                    continue
                silent = post.has(PostFlag.SILENT_SUCCESS)
                assert silent, f"{where}: no completion; the next one is {result}"
                assert failed != entry.epoch, f"{where}: succeeded silently behind a failure"
                continue
            status = result.status
            if failed == entry.epoch:
                assert status == Status.CANCELED, f"{where}: {result} behind a failure"
            elif status != Status.SUCCESS:
                failed = entry.epoch
            else:
                assert not post.has(PostFlag.SILENT_SUCCESS), f"{where}: silent, but {result}"
            want = VERBS[post.opcode].completion(post, status)
            got = result.type, result.nbytes, result.token
            assert got == (want.type, want.nbytes, 0), f"{where}: {result}, not {want}"
            result = next(seen, None)
        assert result is None, f"QP {life.qp.number}: {result} in no place of the post order"
