# SPDX-License-Identifier: Apache-2.0
"""`make compiled`: the model and the checks as machine code, by mypyc, in sim_build/compiled
(tb/compiled.py says which files, and who imports it). Nothing is done if nothing has changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tb.compiled import FOLDER, KEY, ROOT, current, key_of, sources, stamp
from tb.runner.common import (
    RunnerError,
    empty,
    interruptible,
    locked,
    relative,
    whole_number,
    write_whole,
)

LOG = ROOT / "sim_build" / "compiled.log"
#: In a process of its own, since what setuptools and mypyc print goes to the log.
_BUILD = """
import os, sys
from setuptools import setup
from mypyc.build import mypycify
folder, *files = sys.argv[1:]
modules = mypycify(
    ["--python-version=%d.%d" % sys.version_info[:2], "--ignore-missing-imports", *files],
    opt_level="2", debug_level="0", multi_file=True, target_dir=folder + "/c",
)
os.chdir(folder)
sys.argv = ["setup.py", "build_ext", "--parallel", str(len(os.sched_getaffinity(0))),
            "--build-lib", folder, "--build-temp", folder + "/o"]
setup(name="checks", packages=[], ext_modules=modules)
"""


def build(folder: Path = FOLDER) -> None:
    """Translates what has changed. Raises ``RunnerError``."""
    if current(folder):
        return
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    if not headers.is_file():
        package = f"libpython{sys.version_info[0]}.{sys.version_info[1]}-dev"
        raise RunnerError(f"{headers} is missing (of Debian's Python: apt-get install {package})")
    try:
        work = folder.with_name(f"{folder.name}.work")
        with locked(work, "waiting for another process that compiles the checks"):
            if not current(folder):
                _translate(work, folder)
    except OSError as error:
        raise RunnerError(f"{error.strerror}: {error.filename}") from None


def _translate(work: Path, folder: Path) -> None:
    """In ``work``, so that what is in ``folder`` stays until it is done."""
    files, key = sources(), key_of()
    print(f"compiling {len(files)} files of the model and the checks: two to three minutes of "
          f"processor time; log: {relative(LOG)}", flush=True)  # fmt: skip
    command = [sys.executable, "-c", _BUILD, str(work), *map(str, files)]
    env = {**os.environ, "MYPY_CACHE_DIR": str(work / "mypy"), "CFLAGS": "-g0"}
    for old in work.rglob("*.so"):
        old.unlink()
    with LOG.open("w") as log:
        code = subprocess.run(
            command, cwd=ROOT, env=env, stdout=log, stderr=log, check=False
        ).returncode
    if code:
        raise RunnerError(f"mypyc or the compiler failed; log: {relative(LOG)}")
    if key_of() != key:
        raise RunnerError("a file has changed meanwhile; run it again")
    made = [
        path for path in work.rglob("*.so") if path.relative_to(work).parts[0] not in ("c", "o")
    ]
    with locked(folder):
        empty(folder)
        for path in made:
            place = folder / path.relative_to(work)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
        write_whole(folder / KEY, stamp(folder, key))
    print("compiled: done", flush=True)


def main(argv: list[str]) -> int:
    """Exit status 1: not compiled; with --try nobody minds."""
    parser = argparse.ArgumentParser(prog="make compiled")
    parser.add_argument("--try", dest="tries", action="store_true")
    told = "variable of make that must be a whole number, at least LOWEST; told before it compiles"
    parser.add_argument("numbers", nargs="*", metavar="NAME[:LOWEST]", help=told)
    args = parser.parse_args(argv)
    interruptible()
    for name, _, lowest in (word.partition(":") for word in args.numbers):
        whole_number(name, os.environ.get(name, ""), 10**12, int(lowest or 1))
    try:
        build()
    except RunnerError as error:
        if not args.tries:
            raise
        print(f"compiled: {error}; the checks run as Python")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RunnerError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
