# SPDX-License-Identifier: Apache-2.0
"""The slang command line: reads and elaborates a design as strictly as SystemVerilog wants it."""

from __future__ import annotations

import shlex
import sys

from pyslang.driver import Driver


def main(argv: list[str]) -> int:
    driver = Driver()
    driver.addStandardArgs()
    ready = driver.parseCommandLine(shlex.join(["slang", *argv])) and driver.processOptions()
    if not ready or not driver.parseAllSources():
        return 1
    driver.reportCompilation(driver.createCompilation(), False)
    return 0 if driver.reportDiagnostics(False) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
