# SPDX-License-Identifier: Apache-2.0
"""YAML files of the bench: a key that stands twice would hide what the first one says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tb.runner.common import ROOT

FILES = sorted(
    path for folder in ("tb", "docs", "formal") for path in (ROOT / folder).glob("*.yaml")
)


def repeated(text: str) -> list[str]:
    """Keys that stand twice in a mapping, with their places."""
    found: list[str] = []
    left = [yaml.compose(text, yaml.SafeLoader)]
    while left:
        node = left.pop()
        if isinstance(node, yaml.SequenceNode):
            left += node.value
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if key.value in seen:
                    found.append(f"line {key.start_mark.line + 1}: {key.value}")
                seen.add(key.value)
                left.append(value)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_key_stands_twice(path: Path) -> None:
    assert not repeated(path.read_text())


def test_repeated_key_is_found() -> None:
    assert repeated("a: 1\nb:\n  - {c: 1}\n  - c: 2\n    d: 3\n    c: 4\n") == ["line 6: c"]
    assert repeated("a: &x {c: 1}\nb: *x\n") == []
