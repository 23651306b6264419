# SPDX-License-Identifier: Apache-2.0
"""The site: it builds without a warning, and a link to nothing is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tb.runner.common import ROOT

SPHINX = ROOT / ".venv-docs/bin/python"


@pytest.mark.full
def test_site() -> None:
    subprocess.run(["make", "docs"], cwd=ROOT, check=True)
    pages = list((ROOT / "sim_build/docs").glob("*.html"))
    assert (ROOT / "sim_build/docs/index.html") in pages
    assert len(pages) <= 30 + len({"genindex", "search"})


@pytest.mark.full
@pytest.mark.parametrize("link", ["(nowhere.md)", "(timing.md#nowhere)"])
def test_link_to_nothing(tmp_path: Path, link: str) -> None:
    subprocess.run(["make", ".venv-docs/.done"], cwd=ROOT, check=True)
    for name in ("docs/conf.py", "docs/timing.md", "scripts/rdlmap.py", "hdl/carillon.rdl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    page = tmp_path / "docs/index.md"
    page.write_text(f"# Page\n\n```{{toctree}}\ntiming\nregisters\n```\n\n[there]{link}\n")
    timing = tmp_path / "docs/timing.md"
    timing.write_text(timing.read_text().replace("](architecture.md)", "](registers.md)"))
    command = [str(SPHINX), "-m", "sphinx", "-q", "-W", "docs", "site"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "nowhere" in done.stderr
