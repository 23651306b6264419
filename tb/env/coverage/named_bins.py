# SPDX-License-Identifier: Apache-2.0
"""How lists of bins are written."""

from __future__ import annotations

from collections.abc import Mapping

from models.codes import Command, CommandResult

#: The requirements that each bin is about.
Bins = dict[str, tuple[str, ...]]


def listed(text: str) -> Bins:
    """Bins of lines ``group (requirements): case | case``."""
    found: Bins = {}
    for line in filter(None, text.splitlines()):
        head, _, cases = line.partition("): ")
        group, _, requirements = head.partition(" (")
        for case in cases.split(" | "):
            found[f"{group}/{case}"] = tuple(requirements.split(", "))
    return found


def command_bins(results: Mapping[str, str], ok: bool = True) -> dict[tuple[int, int], str]:
    """Bins of commands, by code and result. ``results``: words of the results of each besides OK,
    which has a bin if ``ok``.
    """
    return {
        (Command[name].value, CommandResult[word if word == "OK" else f"CMD_{word}"].value): (
            f"command/{name} {word}"
        )
        for name, words in results.items()
        for word in (*(("OK",) if ok else ()), *words.split())
    }
