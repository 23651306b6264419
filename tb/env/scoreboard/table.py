# SPDX-License-Identifier: Apache-2.0
"""Which check judges which record, for each of the two designs: the completion core
(cde_cpl_top) and the full engine (cde_top).

``pins`` has a row for each record type, ``steps`` one for each operation of each trace lane. What
no row names the design does not have: a record of it is a failure. Checks know each other where the
rules do: completions have no pins in the full engine, so what retires is handed to their check as
the model makes it from the post.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from models import codes
from models.codes import QP_COMMANDS, RECEIVE_COMMANDS, WINDOW_COMMANDS, TraceOp
from models.keys.keys import KeyTable
from models.layouts import PORTALS_END, RECV_PORTAL, SRQ_DB, SRQ_PORTAL
from tb.env.defs import Cause
from tb.env.harness import records as beats
from tb.env.harness.records import Trace
from tb.env.scoreboard.arm.steps import StepChecks
from tb.env.scoreboard.context import ANY_QP, CQ, QP, QUEUE, SRQ, Check, Context, LogEntry
from tb.env.scoreboard.cq.commands import CqCommands
from tb.env.scoreboard.cq.credits import Credits, PortCredits, PostCredits
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.host.commands import Commands
from tb.env.scoreboard.host.doorbells import DoorbellChecks
from tb.env.scoreboard.host.memory import MemoryChecks
from tb.env.scoreboard.host.pages import PageWrites
from tb.env.scoreboard.keys.access import AccessChecks, KeyChecks
from tb.env.scoreboard.keys.commands import KeyCommands
from tb.env.scoreboard.keys.context import KeyContext
from tb.env.scoreboard.post.context import QpContext
from tb.env.scoreboard.post.dispatch import DispatchChecks, RetireChecks
from tb.env.scoreboard.post.posts import PostChecks
from tb.env.scoreboard.post.states import QpChecks
from tb.env.scoreboard.receive.commands import SrqCommands
from tb.env.scoreboard.receive.context import ReceiveContext
from tb.env.scoreboard.receive.posts import ReceiveDoneChecks, ReceivePostChecks
from tb.env.scoreboard.receive.takes import TakeChecks

Run = Callable[[Any], None]


class Step(NamedTuple):
    """A row of ``steps``. ``run``: judges the record, one after another."""

    of: str
    check: Check
    run: tuple[Callable[[Trace], None], ...]


class Seen(NamedTuple):
    """Something that a test must have seen, unless it allows one of ``excuses``."""

    what: str
    number: int
    excuses: tuple[str, ...]


class Counted(NamedTuple):
    """Over all lives of the engine: posts accepted; requests retired and receives completed;
    receive posts accepted; requests and messages that were to change keys, and verdicts.
    """

    posts: int = 0
    done: int = 0
    received: int = 0
    keyed: int = 0


#: What overflows and answers of memory leave in the error log, for certain.
_CERTAIN = frozenset(
    {
        *(Cause.CQ_OVERFLOW, Cause.CQE_WRITE_ERROR, Cause.EQE_WRITE_ERROR),
        *(Cause.EQ_FAILED, Cause.STRAY_B),
    }
)


def _cq_steps(steps: StepChecks) -> dict[tuple[int, int], Step]:
    """Lanes 0 to 2."""
    runs: dict[int, dict[int, Callable[[Trace], None]]] = {
        0: dict.fromkeys(
            (TraceOp.PLACE, TraceOp.OVERFLOW, TraceOp.START, TraceOp.RESIZE, TraceOp.STOP),
            steps.producer,
        ),
        1: {
            TraceOp.PUBLISH: steps.publish,
            TraceOp.CQ_ERROR: steps.cq_error,
            TraceOp.EVENT_FAILED: steps.event_failed,
        },
        2: {
            TraceOp.EVENT_DONE: steps.event_done,
            TraceOp.DOORBELL: steps.doorbell,
            TraceOp.CB_RETURN: steps.cb_return,
            TraceOp.MODERATION: steps.moderation,
            TraceOp.CREATE: steps.control_step,
            TraceOp.DESTROY: steps.control_step,
        },
    }
    return {
        (lane, op): Step(CQ, steps, (run,)) for lane, ops in runs.items() for op, run in ops.items()
    }


class CoreChecks:
    """Checks of the completion core."""

    #: Lanes whose records of a cycle come first, in this order; the others after them.
    first_lanes: tuple[int, ...] = ()
    #: Channels with a bound that holds while nothing stalls them.
    bounded: tuple[str, ...] = ()
    #: Told of each step that nothing more comes of earlier cycles.
    settle: Callable[[int], None] | None = None

    def __init__(self, ctx: Context, used: Callable[[int], bool] = lambda _: False) -> None:
        """``used``: tells whether a queue pair names a CQ."""
        self.ctx = ctx
        self.pages = pages = PageWrites(ctx)
        pages.others = self.doorbells = doorbells = DoorbellChecks(ctx, pages)
        self.credits = credits_ = self._credits()
        self.completions = completions = CompletionChecks(ctx, credits_)
        self.memory = memory = MemoryChecks(ctx, doorbells, completions)
        of_cqs = completions, credits_, doorbells, memory
        self.cq_commands = cq_commands = CqCommands(ctx, *of_cqs, used)
        self.commands = commands = Commands(ctx, cq_commands)
        self.steps = StepChecks(ctx, *of_cqs, cq_commands)
        self.all: list[Check] = [
            *(completions, memory, self.steps, cq_commands, pages, doorbells, credits_, commands)
        ]
        self.by_step = _cq_steps(self.steps)
        self.by_type: dict[type, tuple[Check, Run]] = {
            beats.MemResponse: (memory, memory.response),
            beats.MemWrite: (memory, memory.write),
            beats.Interrupt: (memory, memory.interrupt),
            beats.DoorbellRequest: (doorbells, pages.request),
            beats.DoorbellResponse: (pages, pages.response),
            beats.Command: (commands, commands.command),
        }
        if isinstance(credits_, PortCredits):
            self.by_type |= {
                beats.Completion: (completions, completions.completion),
                beats.CreditRequest: (credits_, credits_.request),
                beats.CreditAnswer: (credits_, credits_.answer),
            }

    def _credits(self) -> Credits:
        """The check of the credit port."""
        return PortCredits(self.ctx)

    def seen(self, kinds: dict[type, int]) -> list[Seen]:
        """What a test must have seen; ``kinds``: records judged of each type."""
        excuses = {
            Trace: "no_traffic",
            beats.Completion: "no_completions",
            beats.DoorbellRequest: "no_doorbells",
        }
        return [
            Seen(f"{kind.__name__} record", kinds.get(kind, 0), (excuse,))
            for kind, excuse in excuses.items()
            if kind in self.by_type or kind is Trace
        ]

    def stalled(self, cycles: dict[str, int]) -> None:
        """Cycles up to which the channels of these names were stalled."""

    def certain(self) -> set[Cause]:
        """Causes in the error log that the checks know all entries of."""
        return set(_CERTAIN)

    def maybe(self) -> list[LogEntry]:
        """Entries that may be in the error log as well: the order of events does not show at the
        ports.
        """
        return []

    def deadline(self) -> int:
        """Until this cycle something may still happen by itself: a release by age."""
        return 0

    def carry(self, before: CoreChecks) -> None:
        """The engine was reset: what was seen before it counts."""


class EngineChecks(CoreChecks):
    """Checks of the full engine: completions and credits have no ports, queue pairs have."""

    first_lanes: tuple[int, ...] = (9, 5, 6, 7, 8)
    bounded: tuple[str, ...] = ("WORK", "SCATTER", "VERDICT")

    def __init__(self, ctx: Context) -> None:
        self.qpc = qpc = QpContext(ctx, KeyTable(ctx.params))
        self.rc = rc = ReceiveContext(qpc)
        self.kc = kc = KeyContext(rc)
        self.post_credits = credits_ = PostCredits(ctx)
        super().__init__(ctx, qpc.model.uses_cq)
        pages, completions = self.pages, self.completions
        self.dispatch = dispatch = DispatchChecks(kc)
        self.retire = retire = RetireChecks(kc, completions, dispatch)
        self.posts = posts = PostChecks(qpc, pages, credits_, dispatch)
        self.receive_posts = receive_posts = ReceivePostChecks(rc, pages, credits_)
        self.keys = keys = KeyChecks(kc, dispatch, retire)
        self.takes = takes = TakeChecks(rc, credits_, self.memory, keys)
        self.receives = receives = ReceiveDoneChecks(rc, completions, receive_posts)
        self.access = access = AccessChecks(kc)
        self.qps = qps = QpChecks(kc, dispatch, takes, posts)
        credits_.waiters = [check.oldest for check in (posts, receive_posts, takes)]
        pages.by_offset = {
            **dict.fromkeys(range(0, PORTALS_END, 0x40), posts),
            **dict.fromkeys((RECV_PORTAL, SRQ_PORTAL, SRQ_DB), receive_posts),
        }
        srq_commands = SrqCommands(rc, receive_posts, takes, qps.sizes)
        key_commands = KeyCommands(kc)
        of_srqs = [code for code in RECEIVE_COMMANDS if code < codes.Command.REGISTER_MR]
        self.commands.closed = key_commands.closed
        self.commands.by_code = {
            **dict.fromkeys(QP_COMMANDS, qps),
            **dict.fromkeys((*RECEIVE_COMMANDS, *WINDOW_COMMANDS), key_commands),
            **dict.fromkeys(of_srqs, srq_commands),
        }
        qps.listeners = (
            *(posts.changed_qp, receive_posts.changed_qp, takes.changed_qp),
            access.changed_qp,
        )
        key_commands.listeners = (takes.removed, access.removed)
        self.all[-1:] = [
            *(posts, dispatch, retire, qpc, qps, rc, receive_posts, takes, receives),
            *(srq_commands, kc, access, keys, key_commands, self.commands),
        ]
        self.by_type |= {
            beats.Interrupt: (takes, takes.interrupt),
            beats.WorkBeat: (dispatch, dispatch.work),
            beats.DoneReport: (retire, retire.done),
            beats.ConnReport: (qps, qps.conn),
            beats.TermRequest: (qps, qps.term),
            beats.RecvRequest: (takes, takes.request),
            beats.ScatterAnswer: (takes, takes.answer),
            beats.RecvDone: (receives, receives.done),
            beats.AccessCheck: (access, access.check),
            beats.AccessVerdict: (access, access.verdict),
        }
        failed = self.by_step[1, TraceOp.CQ_ERROR]
        self.by_step |= {
            (1, TraceOp.CQ_ERROR): failed._replace(run=(rc.cq_failed, *failed.run)),
            (3, TraceOp.POST): Step(QP, posts, (posts.post_step,)),
            (3, TraceOp.AGE): Step(QP, posts, (posts.age_step,)),
            (3, TraceOp.QP_STATE): Step(QP, qps, (qps.state_step,)),
            (4, TraceOp.RETIRE): Step(QP, retire, (retire.retire,)),
            (5, TraceOp.TAKE): Step(QP, takes, (takes.step,)),
            (5, TraceOp.WATERMARK): Step(SRQ, srq_commands, (srq_commands.watermark_step,)),
            (6, TraceOp.RECV_POST): Step(QUEUE, receive_posts, (receive_posts.receive_step,)),
            (6, TraceOp.REAP): Step(SRQ, receive_posts, (receive_posts.reap_step,)),
            (6, TraceOp.RECV_SIZE): Step(QUEUE, srq_commands, (srq_commands.size_step,)),
            (7, TraceOp.RECEIVE): Step(QP, receives, (receives.receive,)),
            (8, TraceOp.BIND): Step(QP, keys, (keys.request_step,)),
            (8, TraceOp.FAST_REGISTER): Step(QP, keys, (keys.request_step,)),
            (8, TraceOp.INVALIDATE): Step(QP, keys, (keys.invalidate,)),
            (8, TraceOp.KEY_COMMAND): Step(ANY_QP, key_commands, (key_commands.changes,)),
            (8, TraceOp.REMOVED): Step(ANY_QP, key_commands, (key_commands.removes,)),
            (9, TraceOp.CHECK): Step(QP, access, (access.step,)),
        }
        #: Nothing more comes of earlier cycles than this one.
        self.settle = rc.settle
        #: Seen before the latest reset: posts, requests retired and receives, buffers, keys.
        self._before = Counted()

    # -- what was seen -----------------------------------------------------------------------------

    @property
    def counted(self) -> Counted:
        """What was seen until here."""
        now = Counted(
            self.qpc.model.posts,
            self.retire.retired + self.rc.completed,
            self.rc.posted,
            self.keys.executed + self.keys.invalidations + sum(self.access.codes.values()),
        )
        return Counted(*(n + before for n, before in zip(now, self._before, strict=True)))

    def seen(self, kinds: dict[type, int]) -> list[Seen]:
        """A test of receives alone, or of keys alone, has seen something."""
        posts, done, received, keyed = self.counted
        others = received + keyed
        return [
            *super().seen(kinds),
            Seen("accepted post", posts or others, ("no_posts",)),
            Seen("retired request", done or others, ("no_completions", "no_posts")),
            Seen("accepted receive", posts or others, ("no_receives",)),
        ]

    def carry(self, before: CoreChecks) -> None:
        assert isinstance(before, EngineChecks)
        self._before = before.counted

    # -- the end -----------------------------------------------------------------------------------

    def _credits(self) -> Credits:
        """That of posts, which is made already."""
        return self.post_credits

    def stalled(self, cycles: dict[str, int]) -> None:
        self.dispatch.stalled(cycles["WORK"])
        self.takes.stalled(cycles["SCATTER"])
        self.access.stalled(cycles["VERDICT"])

    def certain(self) -> set[Cause]:
        found = {cause for cause in Cause if Cause.DONE_BAD <= cause < Cause.MEM_CORRECTED}
        uncertain = {Cause.CONN_NO_QP} if self.qps.unsettled else set()
        return found - uncertain | _CERTAIN

    def maybe(self) -> list[LogEntry]:
        return self.takes.maybe

    def deadline(self) -> int:
        return max(self.posts.deadlines.values(), default=0)


def checks_of(ctx: Context) -> CoreChecks:
    """The checks of a build: one without queue pairs is the completion core."""
    return EngineChecks(ctx) if ctx.params.num_qp else CoreChecks(ctx)
