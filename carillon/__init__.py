# SPDX-License-Identifier: Apache-2.0
"""Carillon for other projects: the reference model, which needs Python alone. What judges an engine
in a bench is in ``carillon.bench``.
"""

from models.codes import ArmType, PostFlag
from models.cq.entries import Cqe, Eqe
from models.nic import Nic
from models.params import Params
from models.post.post import Post, Segment

__all__ = ["ArmType", "Cqe", "Eqe", "Nic", "Params", "Post", "PostFlag", "Segment"]
