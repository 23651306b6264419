# SPDX-License-Identifier: Apache-2.0
"""A new file in ``models/verbs`` is all that the model needs: shown in a copy with two verbs more.

Nop is that of ``docs/add_a_verb.md``, word for word; it has no data. FetchAndAdd has exactly one
segment of 8 bytes, and the peer's memory is read and written.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FETCH_AND_ADD = '''
"""FetchAndAdd: adds to 8 bytes of the peer, and fetches what they were."""

from models.codes import Access
from models.verb import Verb

VERB = Verb(
    name="FetchAndAdd",
    opcode=0x09,
    result_type=0x0100,
    min_segments=1,
    max_segments=1,
    exact_length=8,
    has_target=True,
    transfers=True,
    access=Access.WRITE,
)
'''

#: What the copy says of both.
SAYS = """
from models.codes import Cause
from models.nic import Nic
from models.post.post import Post, Segment, slots_of
from models.verbs import BY_NAME

nic = Nic()
nic.create_cq(0)
nic.create_qp(0)
nop, add = BY_NAME["Nop"], BY_NAME["FetchAndAdd"]


def post(verb, *lengths, **fields):
    target = Segment(1, 0, 2) if len(lengths) < 3 else None
    slots = slots_of([Segment(0, n) for n in lengths], target)
    return nic.post(0, Post(verb.opcode, len(lengths), slots=slots, **fields)).name


print([post(nop), post(nop, 0), post(nop, inline_bytes=1)])
print([post(add, *n) for n in ([8], [], [7], [9], [4, 4], [8, 0, 0])])
print([(beat.post.opcode, beat.local) for beat in nic.work])
nic.done(0)
print([(result.type, result.nbytes, result.status) for result in nic.poll(0)])
"""
WANTED = """\
['OK', 'TOO_MANY_SEGMENTS', 'BAD_LENGTH']
['OK', 'BAD_LENGTH', 'BAD_LENGTH', 'BAD_LENGTH', 'TOO_MANY_SEGMENTS', 'TOO_MANY_SEGMENTS']
[(9, False)]
[(128, 0, 0), (256, 8, 0)]
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The model with two verbs more."""
    shutil.copytree(ROOT / "models", tmp_path / "models")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    page = (ROOT / "docs" / "add_a_verb.md").read_text()
    (nop,) = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)
    verbs = tmp_path / "models" / "verbs"
    (verbs / "nop.py").write_text(nop)
    (verbs / "fetch_and_add.py").write_text(FETCH_AND_ADD)
    return tmp_path


def run(copy: Path, *args: str) -> str:
    """What a Python of its own says in the copy."""
    done = subprocess.run(
        [sys.executable, *args], cwd=copy, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_new_verbs(copy: Path) -> None:
    assert run(copy, "-c", SAYS) == WANTED


def test_tests_pass_with_new_verbs(copy: Path) -> None:
    """Those that go through all verbs."""
    tests = [f"models/tests/{name}.py" for name in ("post/test_posts", "post/test_qp", "test_nic")]
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
