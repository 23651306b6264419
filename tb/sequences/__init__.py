# SPDX-License-Identifier: Apache-2.0
"""Sequence library: one file per sequence in its subfolders, found by name.

A file defines a subclass of :class:`CarillonSequence`; it needs no other edit.
``find("mixed_traffic")`` returns the class.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import cocotb
from cocotb.task import Task
from pyuvm import uvm_sequence

from tb.env.harness.streams import stream

if TYPE_CHECKING:
    from tb.env.agents.base import BfmItem
    from tb.env.env import CarillonEnv

T = TypeVar("T")
I = TypeVar("I", bound="BfmItem")  # noqa: E741

_registry: dict[str, type[CarillonSequence]] = {}


class CarillonSequence(uvm_sequence):
    """A virtual sequence: runs on the virtual sequencer of an environment, acts through its host
    driver and agents, and sends items through their sequencers. ``body`` is a coroutine; keyword
    options become attributes.
    """

    #: Name in the registry.
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            if cls.name in _registry:
                raise ValueError(f"two sequences are named {cls.name}")
            _registry[cls.name] = cls

    def __init__(self, env: CarillonEnv, **options: Any) -> None:
        super().__init__(self.name or type(self).__name__)
        self.env = env
        self.rng = stream(env.seed, self.name)
        self._tasks_begun: list[Task[Any]] = []
        for option, value in options.items():
            if not hasattr(type(self), option):
                raise ValueError(f"sequence {self.name} has no option {option}")
            setattr(self, option, value)

    async def run(self) -> None:
        """Runs the sequence to its end."""
        await self.start(self.env.sequencer)

    async def do(self, item: I) -> I:
        """Sends an item through the sequencer of its interface; returns it when its driver has
        queued it. The ``answer`` of items that have one can then be awaited.
        """
        of = getattr(self.sequencer, "of", None)
        assert of, f"{self.name} was started on an agent's sequencer: `await seq.run()` runs it"
        sequencer = of(item)
        await sequencer.start_item(item)
        await sequencer.finish_item(item)
        return item

    def spawn(self, work: Coroutine[Any, Any, T]) -> Task[T]:
        """Starts a task that belongs to the sequence."""
        self._tasks_begun = [task for task in self._tasks_begun if not task.done()]
        task = cocotb.start_soon(work)
        self._tasks_begun.append(task)
        return task

    def begin(self) -> Task[None]:
        """Runs the sequence in a task, which :meth:`cancel` ends with all others."""
        return self.spawn(self.run())

    def cancel(self) -> None:
        """Ends everything that the sequence does, wherever it is: for ``env.reset(cut=...)``."""
        for task in self._tasks_begun:
            if not task.done():
                task.cancel()
        self._tasks_begun.clear()


def names() -> list[str]:
    """Names of all sequences in this folder."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return sorted(_registry)


def find(name: str) -> type[CarillonSequence]:
    """The sequence of this name."""
    known = names()
    if name not in known:
        raise KeyError(f"no sequence {name}; known: {', '.join(known)}")
    return _registry[name]
