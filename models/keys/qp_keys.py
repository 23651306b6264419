# SPDX-License-Identifier: Apache-2.0
"""What a queue pair does with keys: its local requests, and how a failure ends its connection.

Source: ``docs/windows.md``, "Requests that change keys"; rules MW-05, MW-09, MW-12, DF-12, DF-15.
Without a key table, or through a queue pair that is not *guarded*, local requests succeed and
change nothing.
"""

from __future__ import annotations

from models.codes import ModelError, PostFlag
from models.keys.keys import KeyTable
from models.keys.window_types import KeyStep
from models.post.qp_types import Request


class KeyUser:
    """The part of a queue pair that knows of keys; ``keys``: the engine's, or none."""

    def __init__(self, number: int = 0, keys: KeyTable | None = None) -> None:
        self.number = number
        self.keys = keys
        self.zone = 0  #: protection zone, 16 bits
        self.guarded = False  #: its requests, messages and checks use keys (CREATE_QP ARG7[18])
        self.connections = 0  #: connections so far
        self.ending: int | None = None  #: connection that a failure is to end
        self.halted: int | None = None  #: connection in which a local request failed
        self.given: KeyStep | None = None  #: made, and not yet taken by its request

    @property
    def removed(self) -> bool:
        """The device is removed (MW-09)."""
        return self.keys is not None and self.keys.removed

    @property
    def keyed(self) -> bool:
        """A window, or a region by FastRegister, is valid on it: it is not destroyed (MW-10c)."""
        return self.keys is not None and bool(self.keys.keys_on(self.number))

    @property
    def halting(self) -> bool:
        """A local request of this connection failed: nothing after it is indicated (DF-15a)."""
        return self.halted == self.connections

    def must_fail(self) -> None:
        """The connection is to end by :meth:`QpModel.fail`: a local request, a check or a token
        failed.
        """
        self.ending = self.connections

    def give(self, step: KeyStep) -> None:
        """The key table has made the step of the next request that changes keys already: that
        request's indication, or a Read's retirement, is to fit it.
        """
        if not self.guarded:
            raise ModelError(f"MW-10d: QP {self.number}: {step.op.name}, but it is not guarded")
        if self.given is not None:
            raise ModelError(f"DF-12: QP {self.number}: two steps of keys for one request")
        self.given = step

    def execute(self, request: Request) -> tuple[int, KeyStep | None]:
        """A local request is executed, in its place: its status, and its step of keys."""
        step, self.given = self.given, None
        if step is None and self.keys is not None and self.uses_keys:
            step = request.verb.execute(self.keys, self.number, self.zone, request.post)
        status, step = self._outcome(
            request, step, request.verb.changes_keys, request.post.target.key
        )
        if status:
            self.halted = self.ending
        return status, step

    def finish(self, request: Request, status: int) -> tuple[int, KeyStep | None]:
        """A request retires with this status: the status that it has then, and its step."""
        post = request.post
        may = request.verb.is_read and post.has(PostFlag.RDMA_READ_LOCAL_INVALIDATE) and not status
        if not may or not self.uses_keys:
            return status, None
        step, self.given = self.given, None
        if step is None and self.keys is not None:
            step = request.verb.retire(self.keys, self.number, post)
        return self._outcome(request, step, may, post.segments[0].key if post.segments else 0)

    @property
    def uses_keys(self) -> bool:
        """Its requests, messages and checks use keys (MW-10d): it is guarded."""
        return self.guarded

    def _outcome(
        self, request: Request, step: KeyStep | None, possible: bool, key: int
    ) -> tuple[int, KeyStep | None]:
        if step is None:
            return 0, None
        if not possible or (step.qp, step.key) != (self.number, key):
            raise ModelError(
                f"DF-12: QP {self.number}: {step.op.name} of key {step.key:#x} is not of request "
                f"{request.number}, {request.verb.name}"
            )
        if not step.okay:
            self.must_fail()
        return step.code, step
