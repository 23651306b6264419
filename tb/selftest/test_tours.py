# SPDX-License-Identifier: Apache-2.0
"""Graphs are explored soundly, tours take every transition, and what was not driven is reported."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from models.arm.arm import CqConfig
from models.codes import ModelError
from models.post.qp import QpConfig
from models.receive.receive_types import SrqConfig
from models.tests.broken import arm as arm_variants
from models.tests.broken import keys as key_variants
from models.tests.broken import post as post_variants
from models.tests.broken import receive as receive_variants
from models.tests.broken.parts import WHOLE
from tb.runner import finish
from tb.runner.common import ROOT, RunnerError
from tb.runner.discover import TOURS, Job, find_modules, select_jobs
from tb.runner.finish import conclude
from tb.runner.regress import SimRun
from tb.tours import arm, deferral, srq, window
from tb.tours import graph as graphs
from tb.tours.catalogue import NAMES, SETUPS, explored, world_of
from tb.tours.report import Driven, Row, rows, write
from tb.tours.words import PEER


class Counter:
    """Counts to three, and can end for ever."""

    def __init__(self) -> None:
        self.count: int | None = 0

    def key(self) -> Hashable:
        return ("end",) if self.count is None else (self.count,)

    def actions(self) -> Iterator[str]:
        yield "look"
        if self.count is not None:
            yield "up"
            yield "end"

    def act(self, action: str) -> str:
        if action == "look" or self.count is None:
            return "seen"
        self.count = None if action == "end" else (self.count + 1) % 3
        return "done"


@pytest.fixture(name="graph")
def small_graph() -> graphs.Graph:
    return graphs.explore("counter: three", Counter())


def walked(graph: graphs.Graph, leave_out: str = "") -> Driven:
    """What a test notes that sees everything, but for one action, as the graph says."""
    driven = Driven(graph)
    for walk in graphs.tour(graph):
        state = driven.starts(graph.states[0])
        for number in walk:
            step = graph.transitions[number]
            if step.action == leave_out:
                state = step.target
                continue
            state = driven.note(state, step.action, step.answer, graph.states[step.target])
    return driven


# -- graphs and tours ------------------------------------------------------------------------------


def test_explore(graph: graphs.Graph) -> None:
    assert graph.states == [(0,), (1,), ("end",), (2,)]
    assert len(graph.transitions) == 3 * 3 + 1
    assert graph.transitions[1] == graphs.Transition(0, "up", "done", 1)
    assert graphs.explore("counter: three", Counter()).digest == graph.digest
    assert graphs.explore("counter: other", Counter()).digest != graph.digest


def test_tour_takes_every_transition(graph: graphs.Graph) -> None:
    walks = graphs.tour(graph)
    assert {number for walk in walks for number in walk} == set(range(len(graph.transitions)))
    # Three ways into the state that nothing leaves: each but the last needs a new walk.
    assert len(walks) == 3 and graphs.tour(graph) == walks
    for walk in walks:
        graphs.replay(graph, Counter(), walk)
    graph.transitions.append(graphs.Transition(graph.number((9,)), "look", "seen", 0))
    with pytest.raises(graphs.TourError, match="1 transitions cannot be reached"):
        graphs.tour(graph)


# -- the catalogue ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETUPS)
def test_walks_of_the_catalogue(name: str) -> None:
    """The models take each walk from end to end as the graph says: its states leave out nothing
    that a history of thousands of actions shows.
    """
    graph = explored(name)
    assert len(graph.transitions) > 300  # a graph that lost its actions proves nothing
    for walk in graphs.tour(graph):
        graphs.replay(graph, world_of(name), walk)


def test_catalogue_is_driven() -> None:
    """Each graph has one test."""
    named = []
    for path in (ROOT / "tb" / "tests").rglob(TOURS + ".py"):
        pattern = r'^class \w+\((.*)\):\n    """[^"]*"""\n\n    graphs = (\([^)]*\))$'
        for bases, names in re.findall(pattern, path.read_text(), re.M):
            pairs = "pairs: " * ("PairTest" in bases)
            named += [pairs + name for name in ast.literal_eval(names)]
    assert sorted(named) == sorted(NAMES)
    sizes: dict[str, int] = {}
    for name in SETUPS:
        model = name.split(":")[0]
        sizes[model] = sizes.get(model, 0) + len(explored(name).transitions)
    assert list(sizes) == ["arm", "deferral", "srq", "window"]
    assert min(sizes.values()) > 9000


def test_page_tells_the_sizes() -> None:
    """docs/tours.md: states, transitions, walks and actions of each graph."""
    page = (ROOT / "docs" / "tours.md").read_text()
    told = re.findall(r"^\| `([a-z]+: [^:]*?)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|", page, re.M)
    sizes = []
    for name in SETUPS:
        graph = explored(name)
        walks = graphs.tour(graph)
        counts = len(graph.states), len(graph.transitions), len(walks), sum(map(len, walks))
        sizes.append((name, *(f"{count:,}" for count in counts)))
    assert told == sizes
    pairs = re.findall(r"^\| `(pairs: .*?)` \| (.*?) \|", page, re.M)
    assert pairs == [(n, f"{len(explored(n).transitions):,}") for n in NAMES[len(SETUPS) :]]
    for count in (
        sum(len(explored(name).transitions) for name in SETUPS),
        sum(len(explored(name).states) for name in SETUPS),
    ):
        assert f" {count:,} " in page


def _arm(rule: str) -> graphs.World:
    world = arm.ArmWorld(arm.Setup(wide=True))
    world.cq = arm_variants.BROKEN.get(rule, WHOLE).cq()
    world.cq.create(CqConfig(1 << arm.LOG2))
    return world


def _deferral(rule: str) -> graphs.World:
    world = deferral.DeferralWorld(deferral.Setup(("send", "read", "fenced")))
    world.qp = post_variants.BROKEN.get(rule, WHOLE).qp(0, deferral.PARAMS)
    world.qp.create(QpConfig(depth=2))
    world.qp.connect(PEER)
    return world


def _srq(rule: str) -> graphs.World:
    world = srq.SrqWorld(srq.Setup(watermarks=(0, 1, 2, 3), lead=True))
    parts = receive_variants.BROKEN.get(rule, WHOLE)
    queue = parts.srq(0, srq.PARAMS, world.srq.regions)
    queue.create(SrqConfig(srq.SIZE))
    queue.watermark(srq.SIZE)
    queue.interrupt()
    world.srq = queue
    for rq in world.rqs:
        rq.srq = queue
        rq.__class__ = parts.rq  # with all that it has been told
    return world


def _window(rule: str) -> graphs.World:
    world = window.WindowWorld(window.Setup(old=True, region=True))
    world.table = key_variants.BROKEN.get(rule, WHOLE).keys(window.PARAMS)
    for qp, rq in zip(world.qps, world.rqs, strict=True):
        qp.keys = rq.keys = rq.regions = world.table
    return world


@pytest.mark.parametrize(
    ("name", "world", "rules"),
    [
        ("arm: literal", _arm, ["CQ-07", "CQ-09", "CQ-10a", "CQ-11", "CQ-12", "CQ-13", "CQ-14"]),
        ("deferral: fences", _deferral, ["DF-04", "DF-11", "DF-13", "DF-15"]),
        ("srq: watermark", _srq, ["SRQ-02", "SRQ-16"]),
        ("window: keys", _window, ["MW-03", "MW-05", "MW-10", "MW-11"]),
    ],
)
def test_missing_rule_shows(
    name: str, world: Callable[[str], graphs.World], rules: list[str]
) -> None:
    """Answers and states alone find each rule that an engine would lack; the scoreboard sees more,
    such as the ends of batches (DF-06).
    """
    graph = explored(name)
    for walk in graphs.tour(graph):
        graphs.replay(graph, world("none"), walk)
    for rule in rules:
        with pytest.raises((graphs.TourError, ModelError)):
            for walk in graphs.tour(graph):
                graphs.replay(graph, world(rule), walk)


# -- pairs -----------------------------------------------------------------------------------------


def test_pairs(graph: graphs.Graph) -> None:
    """Both actions are possible in the state, the second one after the first, too."""
    pairs = graphs.pair_graph(graph, ["up", "e*"])
    there = [(step.source, step.action) for step in pairs.transitions]
    # Nothing can happen after an end.
    assert there == [(n, f"up + {second}") for n in (0, 1, 3) for second in ("up", "end")]
    driven = Driven(pairs)
    for source, action in there[1:]:
        assert driven.meet(source, action, ("end",)) == graph.index["end",]
    with pytest.raises(graphs.TourError, match=r"1 of 6 .*'up \+ up'"):
        driven.finish()
    assert driven.meet(*there[0], ("elsewhere",)) is None
    driven.finish()


# -- what a test notes -----------------------------------------------------------------------------


def test_wrong_prediction_fails(graph: graphs.Graph) -> None:
    driven = Driven(graph)
    with pytest.raises(graphs.TourError, match="begins in"):
        driven.starts((1,))
    assert driven.starts((0,)) == 0
    driven.ahead(0, (0,))
    with pytest.raises(graphs.TourError, match=r"\(0,\) has become \(1,\) by itself"):
        driven.ahead(0, (1,))
    with pytest.raises(graphs.TourError, match="answer 'seen', expected 'done'"):
        driven.note(0, "up", "seen", (1,))
    with pytest.raises(graphs.TourError, match=r"state \(2,\), expected \(1,\)"):
        driven.note(0, "up", "done", (2,))
    with pytest.raises(graphs.TourError, match="no action 'down'"):
        driven.note(0, "down", "done", (2,))
    assert not driven.seen, "what was not as predicted does not count"
    assert driven.note(0, "up", "done", (1,)) == 1
    assert len(driven.seen) == 1


def test_missing_transition_fails(graph: graphs.Graph) -> None:
    with pytest.raises(graphs.TourError, match=r"3 of 10 transitions not driven: .*'up'"):
        walked(graph, leave_out="up").finish()


# -- the report ------------------------------------------------------------------------------------


def test_rows(graph: graphs.Graph, tmp_path: Path) -> None:
    other = graphs.explore("counter: other", Counter())
    write(tmp_path / "a.json", [walked(graph), walked(other, leave_out="look")])
    write(tmp_path / "b.json", [walked(graph, leave_out="up")])
    files, known = sorted(tmp_path.glob("*.json")), {graph.name: graph, other.name: other}
    full, part = rows(files, known)
    assert (full.states, full.reachable, full.driven, full.missing) == (4, 10, 10, "")
    assert (part.driven, part.missing) == (6, "(0,), 'look'")
    assert finish.tour_gaps([full, part]) == [
        "counter: other: 4 of 10 transitions not driven, such as (0,), 'look'"
    ]
    assert finish.cells(full)[-1] == "100"
    assert finish.cells(replace(full, reachable=100_000, driven=99_999))[-1] == "99.99"
    assert finish.tour_gaps([replace(full, reachable=0, driven=0)]), "nothing is not everything"


def test_collect(graph: graphs.Graph, tmp_path: Path) -> None:
    """A part of the tours tells nothing, all of them tell of every graph; of no other one."""
    everything = select_jobs(find_modules(), [TOURS])
    path = tmp_path / everything[0].id
    write(path, [walked(graph)])
    other = Counter()
    other.act("up")

    def collect(jobs: list[Job], *names: str, world: graphs.World | None = None) -> list[Row]:
        explored = partial(graphs.explore, world=world or Counter())
        return finish.collect(jobs, lambda job: tmp_path / job.id, names, explored)

    assert collect(everything[:1], graph.name, "counter: other") == []
    found = collect(everything, graph.name, "counter: other")
    assert [(row.graph, row.driven) for row in found] == [(graph.name, 10), ("counter: other", 0)]
    with pytest.raises(RunnerError, match="not in the catalogue"):
        collect(everything)
    with pytest.raises(RunnerError, match="another graph"):
        collect(everything, graph.name, world=other)
    data = json.loads(path.read_text())
    data[0]["seen"].append([0, "up", "done", 2])
    path.write_text(json.dumps(data))
    with pytest.raises(RunnerError, match="has no Transition"):
        collect(everything, graph.name)


def test_regression_fails_without_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = Row("counter: three", 4, 10, 9, "(0,), 'look'")
    job = select_jobs(find_modules(), [TOURS])[0]
    monkeypatch.setattr(finish, "collect", lambda _: [found])
    monkeypatch.setattr(finish, "write_tours", partial(finish.write_tours, folder=tmp_path))
    checks, words = conclude("partial", [SimRun(job, True)])
    (problem,) = [check.problem for check in checks if check.name == "tours"]
    assert problem == "counter: three: 1 of 10 transitions not driven, such as (0,), 'look'"
    assert re.search(r"^counter: three +4 +10 +9 +90$", "\n".join(words), re.M)
    assert json.loads((tmp_path / "tours.json").read_text())[0]["percent"] == 90
