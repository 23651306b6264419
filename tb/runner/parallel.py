# SPDX-License-Identifier: Apache-2.0
"""Runs the parts of a campaign beside each other and tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from tb.runner.simulator import kill_all

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def run_parts(
    work: Callable[[_Part], _Result],
    parts: Sequence[_Part],
    processes: int,
    told: Callable[[_Result, int, float], str],
) -> list[_Result]:
    """``work`` on each of the parts, ``processes`` at a time; results in the order of the parts.
    As each ends a line is printed: how many have ended, and what ``told`` makes of the result, the
    number of parts that are left, and the seconds since the start. An exception of a part goes on
    to the caller; before that what has not begun is dropped, and running simulations are killed.
    """
    start = time.monotonic()
    results: dict[int, _Result] = {}
    total = len(parts)
    pool = ThreadPoolExecutor(max_workers=processes)
    try:
        waiting = {pool.submit(work, part): number for number, part in enumerate(parts)}
        for future in as_completed(waiting):
            result = results[waiting[future]] = future.result()
            done = len(results)
            text = told(result, total - done, time.monotonic() - start)
            print(f"[{done:>{len(str(total))}}/{total}] {text}", flush=True)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        kill_all()
        raise
    pool.shutdown()
    return [results[number] for number in range(total)]
