# SPDX-License-Identifier: Apache-2.0
"""The report: whatever its inputs are, a site whose links resolve, and what is on its pages."""

from __future__ import annotations

import copy
import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from tb.report.inputs import SOURCES, Source, load_inputs
from tb.report.pages import PAGES
from tb.report.site import Site, slug
from tb.runner.store import Item, Run, save

VERILOG = """// A module.
module m (input a, output b);
    wire c = a ? 1'b0 : 1'b1;
    assign b = c;
    assign d = <odd> & "x";

    wire e = c;
    wire f = c;
endmodule
"""
PLAN = """rows:
  - {id: once, requirements: [CQ-01], description: Once <only>., tests: [test_a.One]}
"""


GOOD: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "report_results.yaml").read_text())
ITEMS: list[dict[str, Any]] = GOOD["regression"]["items"]


def history(folder: Path, count: int) -> None:
    for n in range(1, count + 1):
        tier, failed = ("quick", "full", "partial")[n % 3], n % 4
        told = (f"2026-01-{n % 28 + 1:02}T10:00:00Z", "make sim", tier, n % 3 < 2, "abc", True)
        run = Run(*told, 2, 2, 300 + n, 9, 9, 9 - failed, failed, 0, interrupted=n == 6)
        items = [Item("x::y", "sim", "failed", cause="<b>why</b>")] * bool(failed)
        save(run, items, {"cpu_s": 300.0 + n}, folder, folder)


def checkout(root: Path, files: dict[str, Any], count: int = 7) -> Path:
    """A checkout with these results; a text is written as it is."""
    (root / "hdl" / "cq").mkdir(parents=True)
    (root / "hdl" / "cq" / "cde_m.v").write_text(VERILOG)
    (root / "docs").mkdir()
    (root / "docs" / "testplan.yaml").write_text(PLAN)
    for source in SOURCES:
        path = root / "sim_build" / source.file
        path.parent.mkdir(exist_ok=True)
        if (data := files.get(source.name)) is not None:
            path.write_text(data if isinstance(data, str) else json.dumps(data))
    log = root / "sim_build" / "jobs" / "two #3" / "sim.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"\x1b[31mthe <last> line\x1b[0m \xff\n")
    if count:
        history(root / ".regression", count)
    return root


def values(text: str, *attributes: str) -> list[str]:
    """What attributes of a page's tags say."""
    return [html.unescape(v) for v in re.findall(rf' (?:{"|".join(attributes)})="([^"]*)"', text)]


def faults_of(site: Path) -> list[str]:
    """Links that lead nowhere or out of the file system, identifiers that occur twice, scripts."""
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    ids = {path: values(text, "id") for path, text in pages.items()}
    found = []
    for path, text in pages.items():
        where = path.relative_to(site)
        found += [f"{where}: {i} twice" for i in {i for i in ids[path] if ids[path].count(i) > 1}]
        scripts = re.findall(r"<script(.*?)>", text)
        found += [f"{where}: script" for s in scripts if not re.search(r'script\.js"', s)]
        for link in {*values(text, "href", "src")} - {"data:,", "#top"}:
            file, _, anchor = link.partition("#")
            target = (path.parent / unquote(file)).resolve() if file else path
            if ":" in file.partition("/")[0] or not target.is_file():
                found.append(f"{where}: no file: {link}")
            elif anchor and unquote(anchor) not in ids.get(target, []):
                found.append(f"{where}: no anchor: {link}")
    return found


def test_links_are_checked(tmp_path: Path) -> None:
    text = '<a id="a" href="gone.html"><p id="a"><a href="#gone"><script>1</script>'
    (tmp_path / "index.html").write_text(text)
    assert len(faults_of(tmp_path)) == 4


def make(root: Path) -> dict[str, str]:
    """The site of a checkout, with sound links: each page by its path."""
    site = Site(load_inputs(root, root / "sim_build"), root / "sim_build" / "report").write().parent
    assert faults_of(site) == []
    assert not list(site.parent.glob(".report-*"))
    found = site.rglob("*.html")
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in found}


def words(text: str) -> str:
    """What a page says."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_whole_site(tmp_path: Path) -> None:
    pages = make(checkout(tmp_path, GOOD))
    assert {f"{page.name}.html" for page in PAGES} | {"index.html"} <= set(pages)
    assert not any("has another form" in text for text in pages.values())
    told = {
        "requirements": ("CQ-01", "Once <only>.", "1 of 2 bins", "test_a.One 1 of 2", "not found"),
        "functional": ("1 of 2 bins not hit", "Holes arm/never", "7 hits"),
        "mutants": ("75.0 % killed", "hdl/cde_m.v:4", "assign b = c;", "A inverted"),
        "proofs": ("1 proofs hold", "1 of 1 planted faults refuted", "make formal PROOF=arm_once"),
        "planted": ("1 of 1 planted faults not found", "test_a.One passes"),
        "tours": ("1 of 1 graphs", "such as A -> B"),
        "outside": ("Memory is silent",),
        "soak": ("1 mismatches", '"seed": 3'),
        "rates": ("posts_per_cycle 1", "clock_mhz 412.5", '"device": "any"'),
        "history": ("7 runs; 3 failures in the last", "<b>why</b>", "cpu_s 307", "quick, interr"),
        "index": ("3 of 7 items failed", "regression.json", "381 processor", "5 numbers measured"),
        "tests": ("381 processor seconds",),
    }
    for name, texts in told.items():
        for text in texts:
            assert text in words(pages[f"{name}.html"]), name


def test_failures_come_first_by_cause(tmp_path: Path) -> None:
    text = words(make(checkout(tmp_path, GOOD))["tests.html"])
    causes = ["Failures by cause", "CQ 11: armed ANY", "worker crashed", "Tests and seeds"]
    places = [text.index(cause) for cause in causes]
    assert places == sorted(places)
    # The cheapest of a group is the one to repeat; its log is shown.
    group = text[places[1] : places[2]]
    repeat = "repeat make sim TEST=test_a.Two SEED=3 waves make waves TEST=test_a.Two SEED=3"
    assert group.index(repeat) < group.index("TEST=test_a.One SEED=2")
    assert "the <last> line" in group
    grid = text[places[3] :]
    assert grid.index("test_a.Three") < grid.index("test_a.Four")
    assert re.search(r"One ✓1 ?✗2", grid)


def test_outcome_that_is_not_known_is_no_pass(tmp_path: Path) -> None:
    run = {"items": [{**ITEMS[0], "outcome": "pased"}]}
    assert "unknown outcome 'pased'" in words(
        make(checkout(tmp_path, {"regression": run}))["index.html"]
    )


def test_interrupted_run_says_so_and_its_numbers_are_left_out(tmp_path: Path) -> None:
    run = {"run": {"interrupted": True}, "items": [{**ITEMS[0], "outcome": "passed"}]}
    root = checkout(tmp_path, {"partial": run}, 6)
    pages = {name: words(text) for name, text in make(root).items()}
    assert "! 1 items, none failed; the run was interrupted" in pages["partial.html"]
    assert "cpu_s 305 " in pages["history.html"]


def test_lines_of_the_source(tmp_path: Path) -> None:
    text = make(checkout(tmp_path, GOOD))["code/cde_m.v.html"]
    states = re.findall(r'class="ln (\w*)" id="L(\d+)"', text)
    assert [state for state, _ in states] == [
        *("", "", "part", "hit", "missing", "", "waived", "", "")
    ]
    assert 'assign d = <odd> & "x";' in html.unescape(re.sub(r"<[^>]*>", "", text))
    assert "It <cannot> be." in words(text)
    assert re.search(r'id="set\d"[^§]*?2 tests[^§]*?test_a\.One[^§]*?test_b\.Two', text)
    # The row of a test that both pages know.
    assert f'href="../tests.html#{slug("test", "test_a.One")}"' in text


NAMES = [source.name for source in SOURCES]


@pytest.mark.parametrize("gone", [SOURCES[::2], SOURCES[1::2], SOURCES])
def test_missing_files_name_their_commands(tmp_path: Path, gone: Sequence[Source]) -> None:
    """Every second file is there, the others, none; the pages of one do not depend on another."""
    left = {k: v for k, v in GOOD.items() if k not in {source.name for source in gone}}
    pages = make(checkout(tmp_path, left, count=len(left)))
    for source in gone:
        for page in [page.name for page in PAGES if page.source == source.name] or ["rates"]:
            told = words(pages[f"{page}.html"])
            assert f"{source.file} is not there" in told and source.command in told
    assert left or all(source.command in pages["index.html"] for source in SOURCES)
    assert left or "make sim" in words(pages["history.html"])


OTHER_FORMS = """
{"items": [{
"text"
[1, null]
[{"a": [1]}]
{"items": [{"outcome": 3, "seed": [], "cpu_s": "x", "log": {}}], "run": [], "metrics": 1}
{"requirements": {"x": []}, "counts": {"f": {"line": 7}}, "tests": {"a": 3}, "missing": 5}
{"counts": {}, "modules": {"m": null}}
{"x": {"hits": NaN, "tests": {"t": 1e999}}}
""".splitlines()


@pytest.mark.parametrize("data", [*OTHER_FORMS, "[" * 100_000], ids=lambda text: text[:30])
def test_files_of_another_form_stop_nothing(tmp_path: Path, data: str) -> None:
    make(checkout(tmp_path, dict.fromkeys(NAMES, data), count=0))


def test_file_of_another_form_is_told(tmp_path: Path) -> None:
    # What a builder takes and a template does not, too.
    files = {**GOOD, "formal": [{"property": "p", "status": "proved"}], "coverage": [1]}
    files |= {"outside": 0, "negatives": [{"id": "x", "status": "passed", "problem": ""}]}
    files |= {"mutation": "{", "faults": [{"pass": True}]}
    pages = make(checkout(tmp_path, files))
    for name in ("functional", "planted", "outside"):
        assert "has another form than expected" in pages[f"{name}.html"], name
    assert "cannot be read" in pages["mutants.html"]
    assert "1 proofs hold" in words(pages["proofs.html"])


ODD = "<script>alert(1)</script>\"'&amp; \u2028 \ud800 \x00 \x1b]8;; {{ 7 * 7 }} ../..// #?% é 漢"


def odd(data: Any) -> Any:
    """All texts of results that are free, with odd characters at their end."""
    fixed = {"kind", "outcome", "status", "metrics", "tier", "source"}
    if isinstance(data, dict):
        return {k: v if k in fixed else odd(v) for k, v in data.items()}
    if isinstance(data, list):
        return [odd(value) for value in data]
    return f"{data} {ODD}" if isinstance(data, str) else data


def test_odd_characters(tmp_path: Path) -> None:
    files = {name: odd(copy.deepcopy(data)) for name, data in GOOD.items()}
    files["coverage"] = {f"{k} {ODD}": v for k, v in files["coverage"].items()}
    files["bench"] = {ODD: 1.0}
    files["mutation"]["modules"] = {ODD: {"killed": 3}}
    names = {f"{ODD} {k}": v for k, v in files["code_coverage"]["counts"].items()}
    files["code_coverage"]["counts"] |= names
    pages = make(checkout(tmp_path / "a b's #1 ?", files))
    assert not any("<script>alert" in text for text in pages.values())
    # As they are, not as a tag, a template or a link.
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in pages["tests.html"]
    assert "{{ 7 * 7 }}" in pages["tests.html"]
    assert not any("has another form" in text for text in pages.values())


@pytest.mark.parametrize(
    "content", [b"", b"no database at all", b"SQLite format 3\x00" + bytes(99)]
)
def test_broken_history(tmp_path: Path, content: bytes) -> None:
    root = checkout(tmp_path, GOOD, count=0)
    path = root / ".regression" / "history.db"
    path.parent.mkdir()
    path.write_bytes(content)
    assert "history.db cannot be read" in words(make(root)["history.html"])
    assert path.read_bytes() == content


def test_old_pages_go(tmp_path: Path) -> None:
    root = checkout(tmp_path, GOOD)
    assert "code/cde_m.v.html" in make(root)
    (root / "sim_build" / "code_coverage.json").unlink()
    assert "code/cde_m.v.html" not in make(root)


# -- in a browser ----------------------------------------------------------------------------------

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
#: Frames of a phone's width; each tells what is wrong with the page in it.
PROBE = """<!DOCTYPE html><body>%s<pre id="told"></pre><script>
addEventListener("load", () => {
  const told = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement;
    let text = `${root.scrollWidth > 390 ? "wide" : "fits"}`;
    const search = page.querySelector(".filter input");
    if (search) {
      const all = page.querySelectorAll(".row[data-text]").length;
      search.value = "no such word";
      search.dispatchEvent(new Event("input", {bubbles: true}));
      const left = page.querySelectorAll(".row[data-text]:not([hidden])").length;
      text += all > 0 && left === 0 && search.checkVisibility() ? " filters" : " broken";
    }
    const target = frame.contentWindow.location.hash.slice(1);
    if (target) text += page.getElementById(target).open ? " open" : " closed";
    told.push(`${frame.dataset.page}: ${text}`);
  }
  document.getElementById("told").textContent = told.join("\\n");
});
</script>"""


def probe(site: Path, pages: Iterable[str]) -> dict[str, str]:
    frame = '<iframe data-page="{0}" src="{0}" width="390" height="844"></iframe>'
    (site / "probe.html").write_text(PROBE % "".join(frame.format(page) for page in pages))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--allow-file-access-from-files", f"--user-data-dir={site / 'profile'}"]
    command += ["--virtual-time-budget=20000", (site / "probe.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.S)
    assert told, done.stderr
    return dict(line.split(": ") for line in told[1].splitlines())


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium on the path (Debian: chromium)")
def test_in_chromium(tmp_path: Path) -> None:
    long = {"test": "test_a." + "Long" * 40, "cause": "x" * 300, "log": "sim_build/" + "l" * 200}
    run = {"items": [*ITEMS, {**ITEMS[1], **long, "signature": "long"}]}
    root = checkout(tmp_path, {**GOOD, "regression": run})
    pages = [path for path in make(root) if "code/" not in path or "cde_m" in path]
    anchor = f"tests.html#{slug('test', 'test_a.Four')}"
    told = probe(root / "sim_build" / "report", [*pages, anchor])
    assert told.pop(anchor) == "fits filters open"
    with_filter = {"tests", "partial", "requirements", "functional", "code", "mutants"}
    with_filter |= {"proofs", "planted"}
    for page, text in told.items():
        wanted = "fits filters" if page.removesuffix(".html") in with_filter else "fits"
        assert text == wanted, page
