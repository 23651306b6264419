# SPDX-License-Identifier: Apache-2.0
"""Lists in YAML: each is read, its mistakes are told, and no key stands twice, which would hide
what the first one says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tb.runner import faults, mutate_plan, soak, testplan
from tb.runner.builds import load_builds
from tb.runner.code_report import load_waivers
from tb.runner.common import ROOT, RunnerError
from tb.runner.discover import Module
from tb.runner.negatives import load_faults
from tb.runner.proofs import load_proofs
from tb.runner.tiers import read_tiers

MODULES = [Module("tb.tests.test_m", "test_m", ("One", "Two"), builds=("a", "b"))]


class List(NamedTuple):
    """How a list is read, and its key; an entry of it."""

    read: Callable[[Path], object]
    key: str
    entry: dict[str, Any]


LISTS = {
    "planted faults": List(
        *(load_faults, "faults"),
        {"id": "f", "stands_for": "s", "requirements": ["CQ-01"], "file": "a.v", "text": "a & b"}
        | {"replacement": "a | b", "fails": {"test_m.One": "differs"}},
    ),
    "faults around the engine": List(
        *(lambda path: faults.load_rows(MODULES, path), "faults"),
        {"id": "r", "fault": "f", "contained": "c", "tests": ["test_m.One"], "seeds": 1}
        | {"seen": {"refused": 1}},
    ),
    "soak": List(
        *(lambda path: soak.load_mix(MODULES, path), "mix"),
        {"test": "test_m.One", "builds": ["a"], "chunks": 1},
    ),
    "proofs": List(
        *(load_proofs, "proofs"),
        {"id": "p", "statement": "s", "requirements": ["CQ-06"], "module": "cde_fifo"}
        | {"top": "f_fifo", "mode": "pdr", "depth": 1, "files": ["formal/lib/f_fifo.v"]}
        | {"breaks_with": [{"file": "hdl/lib/cde_fifo.v", "text": "a", "replacement": "b"}]},
    ),
    "waivers": List(
        *(load_waivers, "waivers"), {"file": "a.v", "kind": "line", "points": "x", "reason": "y"}
    ),
    "test plan": List(
        *(testplan.load_plan, "rows"),
        {"id": "a", "requirements": ["CQ-01"], "description": "d", "tests": ["m.T"]},
    ),
}


@pytest.mark.parametrize(
    "name, change, why",
    [
        ("planted faults", {"more": 1}, "an entry has the keys id, stands_for"),
        ("planted faults", {"fails": {}}, "`fails`, `requirements` and `text` must not be empty"),
        ("planted faults", {"fails": ["test_m.One"]}, "`fails` must be a mapping"),
        ("planted faults", {"fails": {"test_m.One": 3}}, "f: `fails` must be str, not 3"),
        ("planted faults", {"requirements": "CQ-01"}, "`requirements` must be a list, not 'CQ-01'"),
        ("planted faults", {"text": "  "}, "`text` must not be empty"),
        ("planted faults", {"replacement": "a & b"}, "same as `text`"),
        ("faults around the engine", {"tests": ["test_m.Three"]}, "no such test"),
        ("faults around the engine", {"tests": []}, "`tests`"),
        ("faults around the engine", {"seeds": 0}, "`seeds`"),
        ("faults around the engine", {"seen": {"refused": 0}}, "`seen`"),
        ("faults around the engine", {"seen": {}}, "`seen`"),
        ("soak", {"test": "test_m.Three"}, "no such test"),
        ("soak", {"builds": ["c"]}, "is not for build c"),
        ("soak", {"builds": []}, "a build and a chunk"),
        ("soak", {"chunks": 0}, "a build and a chunk"),
        ("proofs", {"mode": "magic"}, "`mode` must be"),
        ("proofs", {"mode": "bmc"}, "prove, pdr or cover"),
        ("proofs", {"depth": 0}, "`depth` must be"),
        ("proofs", {"files": ["formal/none.v"]}, "no file"),
        ("proofs", {"breaks_with": [{"file": "a", "text": "b"}]}, "an entry has the keys"),
        ("proofs", {"breaks_with": []}, "what shows that this proof can fail"),
        ("waivers", {"reason": " "}, "needs a reason"),
        ("waivers", {"kind": "lines"}, "one of the kinds line, branch"),
        ("waivers", {"points": "("}, r"line: \(: missing"),
        ("test plan", {"description": ""}, "a: needs requirements and description"),
    ],
)
def test_mistake_in_an_entry(
    name: str, change: dict[str, object], why: str, tmp_path: Path
) -> None:
    """In one that is right without it."""
    path = tmp_path / "list.yaml"
    path.write_text(json.dumps({LISTS[name].key: [LISTS[name].entry]}))
    LISTS[name].read(path)
    path.write_text(json.dumps({LISTS[name].key: [LISTS[name].entry | change]}))
    with pytest.raises(RunnerError, match=why):
        LISTS[name].read(path)


@pytest.mark.parametrize(
    "read, text, why",
    [
        (load_faults, "faults: [", "not valid YAML"),
        (load_faults, "faults: []", "must have a list `faults`"),
        (load_faults, "faults: [3]", "an entry has the keys"),
        (load_faults, "other: [1]", "must have a list `faults`"),
        (load_faults, "- 1", "must have a list `faults`"),
        (mutate_plan.load_plan, "", r"list\.yaml"),
        (mutate_plan.load_plan, "designs: {t: {build: b}}", r"list\.yaml"),
        (mutate_plan.load_plan, "designs: {}", r"list\.yaml"),
        (load_builds, "small: {paramters: {}}", "an entry has the keys .*paramters"),
        (load_builds, "small: {parameters: 3}", "`parameters` must be a mapping"),
        (load_builds, "small: {fast: 1}", "`fast` must be bool"),
        (load_builds, "small: 3", "must be a mapping"),
        (load_builds, "- a", "must map build names"),
        (read_tiers, "quik: []", "has the keys"),
    ],
)
def test_mistake_in_a_file(
    read: Callable[[Path], object], text: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(text)
    with pytest.raises(RunnerError, match=why):
        read(path)


def test_entries_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="no file with `faults`"):
        load_faults(tmp_path)
    with pytest.raises(RunnerError, match="No such file"):
        load_faults(tmp_path / "none.yaml")
    for name in ("arm.yaml", "post.yaml"):
        (tmp_path / name).write_text(json.dumps({"faults": [LISTS["planted faults"].entry]}))
    with pytest.raises(RunnerError, match="f: a second entry of this name"):
        load_faults(tmp_path)


FILES = sorted(
    path for folder in ("tb", "docs", "formal") for path in (ROOT / folder).glob("*.yaml")
)


class Strict(yaml.SafeLoader):
    """Fails on a key that stands twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), (node.start_mark.line + 1, keys)
        return super().construct_mapping(node, deep)


def test_no_key_stands_twice() -> None:
    for path in FILES:
        yaml.load(path.read_text(), Strict)
    yaml.load("a: &x {c: 1}\nb: *x\n", Strict)
    with pytest.raises(AssertionError, match="4"):
        yaml.load("a: 1\nb:\n  - {c: 1}\n  - c: 2\n    d: 3\n    c: 4\n", Strict)
