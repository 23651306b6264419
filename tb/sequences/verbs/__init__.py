# SPDX-License-Identifier: Apache-2.0
"""One sequence item for each request type of ``models.verbs``: ``SendItem``, ``WriteItem``, ...

::

    item = await self.do(items["Send"](qp=qp, length=100))
    assert await item.cause() == Cause.NONE

A request type has its item by being there. A file of this folder with a subclass of
:class:`VerbItem` whose ``verb`` is that type (``verb = BY_NAME["Bind"]``) replaces its item, where
random fields need more than the verb says.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from models.post.post import Post
from models.verb import Limits, Verb
from models.verbs import VERBS
from tb.env.agents.doorbell import PageItem
from tb.env.defs import Cause, PageReg
from tb.env.host.qp import Qp

_POST_SIZE: Final = 6  # awsize


class VerbItem(PageItem):
    """One post of the request type ``verb`` to ``qp``. ``fields``: those of ``Qp.make``; ``at``:
    earliest cycle. ``post`` may be changed until the item is sent.
    """

    verb: ClassVar[Verb]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _items[cls.verb.name] = cls

    def __init__(
        self, name: str = "", *, qp: Qp, at: int = 0, page: int | None = None, **fields: Any
    ) -> None:
        page = qp.page if page is None else page
        super().__init__(name or self.verb.name, page, PageReg.SEND, at=at, size=_POST_SIZE)
        self.qp = qp
        self.post: Post = qp.make(self.verb.opcode, **fields)

    def randomize(self, rng: random.Random, limits: Limits | None = None) -> None:
        """Random legal fields; the context stays."""
        limits = replace(limits or Limits(), qp=self.qp.number)
        self.post = replace(self.verb.fields(rng, limits), context=self.post.context)

    @property
    def line(self) -> int:
        """The 512 bits to write."""
        return self.post.encode()

    @line.setter
    def line(self, value: int | None) -> None:
        """Follows ``post``."""

    async def cause(self) -> Cause:
        """The inline result, when it is there."""
        resp, cause = await self.answer
        assert bool(resp) == bool(cause), f"response {resp} with cause {cause}"
        return Cause(cause)


class _Items(dict[str, type[VerbItem]]):
    def __missing__(self, name: str) -> type[VerbItem]:
        raise KeyError(f"no request type {name}; there are {', '.join(self)}")


_items = _Items()


def _find() -> Mapping[str, type[VerbItem]]:
    for verb in VERBS.values():
        type(f"{verb.name}Item", (VerbItem,), {"__module__": __name__, "verb": verb})
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _items


#: Items by the name of the request type.
items: Final[Mapping[str, type[VerbItem]]] = _find()
