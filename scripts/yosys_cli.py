# SPDX-License-Identifier: Apache-2.0
"""The part of the yosys command line that scripts and proofs need, on top of pyosys."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="yosys", description=__doc__)
    parser.add_argument("-V", "--version", action="store_true", help="print the version and stop")
    parser.add_argument("-Q", action="store_true", help="no banner (there is none)")
    parser.add_argument("-T", action="store_true", help="no footer (there is none)")
    parser.add_argument("-q", action="count", default=0, help="print warnings and errors only")
    parser.add_argument("-l", metavar="LOG", help="write the whole log to this file as well")
    parser.add_argument("-p", metavar="CMDS", action="append", default=[], help="commands to run")
    parser.add_argument("-s", metavar="SCRIPT", action="append", default=[], help="script to run")
    parser.add_argument("files", nargs="*", help="scripts (.ys) or design files, read in order")
    return parser.parse_args(argv)


def commands(args: argparse.Namespace) -> list[str]:
    """Commands in the order in which yosys runs them: files, then scripts, then -p."""
    reader = {".ys": "script", ".il": "read_rtlil", ".json": "read_json", ".sv": "read_verilog -sv"}
    found = [f"{reader.get(Path(name).suffix, 'read_verilog')} {name}" for name in args.files]
    found += [f"script {name}" for name in args.s]
    return [*found, *args.p]


def redirect(log: str | None, quiet: bool) -> None:
    """Send the log where it was asked to go. It has no other switch than the process's output;
    errors go to stderr in any case."""
    sys.stdout.flush()
    if quiet:
        target = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(target, 1)
    elif log:
        tee = subprocess.Popen(["tee", log], stdin=subprocess.PIPE)
        assert tee.stdin is not None
        os.dup2(tee.stdin.fileno(), 1)


def run_tcl(script: str, run: Callable[[str], None]) -> None:
    """What the wheel lacks: every command of the script that is none of Tcl's is one of Yosys."""
    try:
        import tkinter
    except ImportError:
        sys.exit("yosys: this Python has no Tcl (Debian's: python3-tk)")
    tcl = tkinter.Tcl()
    tcl.createcommand("yosys", lambda *words: None)  # noqa: ARG005  yosys -import
    tcl.createcommand("unknown", lambda *words: run(" ".join(words)))
    tcl.eval(f"source {{{script}}}")


def main(argv: list[str]) -> int:
    args = parse(argv)
    from pyosys import libyosys  # late: loading takes most of the start-up time

    if args.version:
        print(libyosys.yosys_maybe_version())
        return 0
    todo = commands(args)
    if not todo:
        print("yosys: nothing to do; give -p 'commands', -s script or files", file=sys.stderr)
        return 2
    redirect(args.l, bool(args.q))
    design = libyosys.Design()
    for command in todo:
        # A Yosys error ends the process with status 1.
        if command.startswith("tcl "):
            run_tcl(command.split()[1], lambda words: libyosys.run_pass(words, design))
        else:
            libyosys.run_pass(command, design)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
