# SPDX-License-Identifier: Apache-2.0
"""The page about the model alone is what a Python prompt shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "model.md"


def test_page() -> None:
    """All code blocks of the page, one after the other, in one prompt."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, PAGE.name, 0)
    assert example.examples
    told: list[str] = []
    outcome = doctest.DocTestRunner().run(example, out=told.append)
    assert not outcome.failed, "".join(told)


def test_blocks_are_prompts() -> None:
    """No code block of the page is outside the test."""
    text = PAGE.read_text()
    assert text.count("```") == 2 * len(re.findall(r"^```python\n>>> ", text, re.M))
