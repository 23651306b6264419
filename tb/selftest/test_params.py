# SPDX-License-Identifier: Apache-2.0
"""A wrong parameter stops elaboration with a message that names it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tb.runner.common import INCLUDES, ROOT, hdl_files


def elaborate(top: str = "cde_top", /, **parameters: int) -> subprocess.CompletedProcess[str]:
    """Elaborates a module in Icarus with parameters overridden; a message is on stderr."""
    iverilog = shutil.which("iverilog")
    assert iverilog, "iverilog is missing: run `make setup`"
    sources = sorted(str(path) for path in hdl_files())
    return subprocess.run(
        [
            *(iverilog, "-g2005", "-Wno-all", "-s", top, "-o", "/dev/null"),
            *(f"-I{ROOT / folder}" for folder in INCLUDES),
            *(f"-P{top}.{name}={value}" for name, value in parameters.items()),
            *sources,
        ],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("NUM_CQ", 48),
        ("NUM_CQ", 8192),
        ("NUM_EQ", 3),
        ("NUM_EQ", 128),  # more than CQs
        ("NUM_PAGES", 100),
        ("IDX_W", 17),
        ("IDX_W", 3),
        ("MAX_WRITES", 100),
        ("MAX_WRITES", 2048),
        ("M_ID_W", 6),
        ("S_ADDR_W", 20),
        ("MOD_TICK", 1),
        ("NUM_QP", 1),
        ("NUM_QP", 48),
        ("NUM_QP", 8192),
        ("SQ_LOG2", 0),
        ("SQ_LOG2", 16),  # as many slots as indices
        ("BURST", 0),
        ("BURST", 256),
        ("NUM_SRQ", 1),
        ("ECC", 2),
        ("NUM_SRQ", 128),  # more than QPs
        ("NUM_MR", 4096),
        ("NUM_MW", 1),
        ("NUM_MW", 4096),
        ("RQ_LOG2", 0),
        ("SRQ_LOG2", 16),
        ("RX_LOG2", 16),
    ],
)
def test_wrong_parameter_is_named(parameter: str, value: int) -> None:
    result = elaborate(**{parameter: value})
    assert result.returncode != 0
    assert re.search(rf"ERROR_\w*{parameter}_", result.stdout + result.stderr)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("NUM_CQ", 256),
        ("IDX_W", 11),
        ("MAX_WRITES", 2),
        ("NUM_QP", 16),
        ("NUM_QP", 4096),
        ("NUM_SRQ", 64),
        ("ECC", 0),
        ("NUM_MR", 2048),
        ("NUM_MW", 2),
        ("NUM_MW", 2048),
        ("RX_LOG2", 15),
        ("SQ_LOG2", 1),
        ("SQ_LOG2", 15),
        ("BURST", 1),
        ("BURST", 255),
    ],
)
def test_legal_parameter_elaborates(parameter: str, value: int) -> None:
    result = elaborate(**{parameter: value})
    assert result.returncode == 0, result.stderr


def test_numbers_of_waiting_event_entries_do_not_come_round() -> None:
    for cqs, right in ((64, False), (32, False), (16, True)):
        result = elaborate(NUM_CQ=cqs, NUM_EQ=2, MAX_WRITES=16, IDX_W=7, SQ_LOG2=2)
        assert (result.returncode == 0) is right, result.stderr
        said = "two_times_NUM_CQ_plus_MAX_WRITES" in result.stdout + result.stderr
        assert said is not right


def test_no_memory_has_the_number_of_the_counters() -> None:
    result = elaborate("cde_control", MEMORIES=255)
    assert result.returncode != 0
    assert "ERROR_MEMORIES_must_be_below_255" in result.stdout + result.stderr
    assert elaborate("cde_control", MEMORIES=254).returncode == 0


def test_fewest_queue_pairs_and_shared_receive_queues() -> None:
    result = elaborate(NUM_QP=2, NUM_SRQ=2)
    assert result.returncode == 0, result.stderr
