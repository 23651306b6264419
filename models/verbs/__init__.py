# SPDX-License-Identifier: Apache-2.0
"""The request types: every module of this package has one as ``VERB``; adding a file adds one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Final

from models.verb import Verb


def verbs_of(modules: Mapping[str, object]) -> dict[int, Verb]:
    """The request types of modules, by opcode; each has one that is no other's."""
    verbs: dict[int, Verb] = {}
    files: dict[int | str, str] = {}
    for file, module in modules.items():
        verb = getattr(module, "VERB", None)
        if not isinstance(verb, Verb):
            raise TypeError(f"models/verbs/{file}.py: no VERB = Verb(...)")
        opcode = f"opcode {verb.opcode:#04x}: choose a free one"
        for own, what in ((verb.opcode, opcode), (verb.name, f"name {verb.name}")):
            if own in files:
                raise ValueError(
                    f"models/verbs: {files[own]}.py and {file}.py have the same {what}"
                )
            files[own] = file
        verbs[verb.opcode] = verb
    return dict(sorted(verbs.items()))


#: Request types by opcode (8 bits).
VERBS: Final[Mapping[int, Verb]] = verbs_of(
    {
        info.name: importlib.import_module(f"{__name__}.{info.name}")
        for info in pkgutil.iter_modules(__path__)
    }
)

#: Opcodes of no request type.
BAD_OPCODES: Final = tuple(opcode for opcode in range(256) if opcode not in VERBS)

#: Request types by name, as ``docs/posting.md`` has them.
BY_NAME: Final[Mapping[str, Verb]] = {verb.name: verb for verb in VERBS.values()}
