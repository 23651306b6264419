# SPDX-License-Identifier: Apache-2.0
"""The request types: every module of this package has one as ``VERB``; adding a file adds one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Final

from models.verb import Verb


def _find() -> dict[int, Verb]:
    verbs: dict[int, Verb] = {}
    for info in pkgutil.iter_modules(__path__):
        verb = importlib.import_module(f"{__name__}.{info.name}").VERB
        if not isinstance(verb, Verb) or verb.opcode in verbs:
            raise TypeError(f"{info.name}: VERB is no request type, or its opcode is taken")
        verbs[verb.opcode] = verb
    return dict(sorted(verbs.items()))


#: Request types by opcode (8 bits).
VERBS: Final[Mapping[int, Verb]] = _find()

#: Opcodes of no request type.
BAD_OPCODES: Final = tuple(opcode for opcode in range(256) if opcode not in VERBS)

#: Request types by name, as ``docs/posting.md`` has them.
BY_NAME: Final[Mapping[str, Verb]] = {verb.name: verb for verb in VERBS.values()}
