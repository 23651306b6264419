# SPDX-License-Identifier: Apache-2.0
"""What happened in a test, as numbers: completions, refusals, error responses, and what the test
itself observed. For campaigns (``make soak``, ``make faults``), which ask for it.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb.env.defs import TRC_PUBLISH, TraceOp
from tb.env.harness import records as beats

#: Environment variable: path of the JSON file to write, {name: count}.
VARIABLE = "CARILLON_FACTS_OUT"


class Facts:
    """Subscriber for blocks of records; ``counts`` holds integers by name.

    ``completions``: CQEs published (PUBLISH steps, docs/interfaces.md). ``writes``, ``refused``:
    answers of the doorbell pages, and those that are not OKAY. ``error_responses``: answers of host
    memory that are not OKAY. ``longest_delay``: cycles from a memory write to its answer.
    ``reports``: beats of s_axis_done and s_axis_rdone. ``messages``, ``checks``, ``interrupts``:
    beats of s_axis_rreq, s_axis_check, m_axis_irq.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        #: Cycles of the writes of each AXI ID that are not answered; of the latest write.
        self._written: defaultdict[int, deque[int]] = defaultdict(deque)
        self._latest = 0
        self._by_type: dict[type, Callable[[Any], None]] = {
            beats.Trace: self._trace,
            beats.MemResponse: self._response,
            beats.MemWrite: self._write,
            beats.DoorbellResponse: self._answer,
            beats.Interrupt: lambda _: self._count("interrupts"),
            beats.DoneReport: lambda _: self._count("reports"),
            beats.RecvDone: lambda _: self._count("reports"),
            beats.RecvRequest: lambda _: self._count("messages"),
            beats.AccessCheck: lambda _: self._count("checks"),
        }

    def __call__(self, records: list[beats.Record]) -> None:
        """Counts a block of records."""
        self.counts["records"] += len(records)
        by_type = self._by_type
        for record in records:
            handler = by_type.get(type(record))
            if handler is not None:
                handler(record)

    def _count(self, name: str) -> None:
        self.counts[name] += 1

    def _trace(self, record: beats.Trace) -> None:
        if record.op == TraceOp.PUBLISH and record.lane == 1:
            self.counts["completions"] += TRC_PUBLISH["count"].get(record.operand)

    def _write(self, record: beats.MemWrite) -> None:
        if record.cycle < self._latest:  # a reset
            self._written.clear()
        self._latest = record.cycle
        self._written[record.axi_id].append(record.cycle)

    def _response(self, record: beats.MemResponse) -> None:
        self.counts["error_responses"] += record.resp != 0
        if written := self._written[record.axi_id]:
            delay = record.cycle - written.popleft()
            self.counts["longest_delay"] = max(self.counts["longest_delay"], delay)

    def _answer(self, record: beats.DoorbellResponse) -> None:
        self.counts["writes"] += 1
        self.counts["refused"] += record.resp != 0

    def write(self, path: Path) -> None:
        """Writes the counts as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.counts, sort_keys=True) + "\n")


def wanted() -> Path | None:
    """Where the counts of this run are to go; None: nobody asks for them."""
    out = os.environ.get(VARIABLE)
    return Path(out) if out else None
