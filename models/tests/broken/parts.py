# SPDX-License-Identifier: Apache-2.0
"""The classes that tests build their models of: those of the model, or variants without a rule.

A check is worth something only if it fails when the rule it checks is missing. Each file of this
folder has the variants of one subject: subclasses of the model with one rule taken out, and which
of them belong to which rule. Each variant makes a mistake that real engines make; its docstring
says which.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.arm.arm import CqModel
from models.cq.core import CompletionCore
from models.cq.queue import CqProducer, RingReader
from models.keys.keys import KeyTable
from models.keys.window import WindowModel
from models.post.posting import PostingModel
from models.post.qp import QpModel
from models.receive.receive import ReceiveModel
from models.receive.receive_qp import ReceiveQp
from models.receive.srq import SrqModel


@dataclass(frozen=True)
class Parts:
    """One class of each kind."""

    cq: type[CqModel] = CqModel
    producer: type[CqProducer] = CqProducer
    reader: type[RingReader] = RingReader
    core: type[CompletionCore] = CompletionCore
    qp: type[QpModel] = QpModel
    posting: type[PostingModel] = PostingModel
    rq: type[ReceiveQp] = ReceiveQp
    srq: type[SrqModel] = SrqModel
    receive: type[ReceiveModel] = ReceiveModel
    keys: type[KeyTable] = KeyTable
    windows: type[WindowModel] = WindowModel


#: The model itself.
WHOLE = Parts()
