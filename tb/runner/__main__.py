# SPDX-License-Identifier: Apache-2.0
"""Commands that are not tests: campaigns, measurements, lists. Tests, lint, proofs and planted
faults are items of pytest (tb/runner/plugin.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tb.runner.common import RunnerError, interruptible, prepare_environment, whole_number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tb.runner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str, **options: str) -> None:
        added = commands.add_parser(name, help=text)
        for option, told in options.items():
            added.add_argument(f"--{option.replace('_', '-')}", default="", help=told)

    select = {
        "test": "tests: name, module or module.test; globs",
        "seed": "one seed",
        "sim": "verilator or icarus",
        "build": "only this build of tb/builds.yaml",
    }
    jobs = {
        "jobs": "parallel processes",
        "cluster": "words that start a worker through a batch system",
        "cluster_wait": "seconds that the batch system has to start all workers",
    }
    looked_at = dict.fromkeys(("cq", "qp", "srq", "window"), "number of the one to look at")
    command("waves", "rerun one test and record waves", **select, **looked_at)
    command("list", "list the simulation jobs", test=select["test"])
    command("bench", "run the speed measurements")
    command("tiers", "choose the tiers of tb/tiers.yaml from the last `make coverage`")
    command("coverage", "judge code coverage of hdl/ once more", test=select["test"])
    command(
        "mutate",
        "run the tests on mutants of the design",
        count="how many mutants (default 1000)",
        seed="seed of their choice (default 1)",
        module="only mutants of these modules; a glob",
        prove_seconds="limit of the proofs of one mutant",
        **jobs,
    )
    command("soak", "run random traffic", completions="to judge", seed="of the campaign", **jobs)
    return parser


def _run(args: argparse.Namespace) -> int:
    # Late imports: `--help` and a wrong option answer at once.
    if args.command == "bench":
        from tb.runner.bench import run_bench

        return run_bench()
    if args.command == "tiers":
        from tb.runner.choose import run_choose

        return run_choose()
    if args.command in ("list", "waves"):
        return _jobs(args)
    if args.command == "coverage":
        from tb.runner.code_report import run_coverage

        return run_coverage(args.test.replace(",", " ").split())
    seed, jobs = whole_number("SEED", args.seed), whole_number("JOBS", args.jobs, 4096)
    if args.cluster.strip():
        from tb.runner.cluster import spec_of

        spec_of(args.cluster)  # before anything is built
    workers = args.cluster, jobs, whole_number("CLUSTER_WAIT", args.cluster_wait)
    if args.command == "soak":
        from tb.runner.soak import run_soak

        return run_soak(whole_number("N", args.completions, 10**12), seed, *workers)
    from tb.runner.mutate import run_mutate

    count, prove = whole_number("COUNT", args.count), whole_number("PROVE", args.prove_seconds)
    return 1 if run_mutate(count or 1000, seed or 1, args.module, prove or 60, *workers) else 0


def _jobs(args: argparse.Namespace) -> int:
    from tb.runner.discover import find_modules, select_jobs

    patterns = args.test.replace(",", " ").split()
    if args.command == "list":
        for job in select_jobs(find_modules(), patterns):
            print(job.reproduce())
        return 0
    from tb.runner.builds import get_build, load_builds
    from tb.runner.selection import Selection
    from tb.runner.waves import run_waves
    from tb.waves.save_file import COUNTS

    seed = whole_number("SEED", args.seed)
    sim = args.sim or "verilator"
    if args.build:
        get_build(load_builds(), args.build, sim)
    seeds = (seed,) if seed else None
    looked_at = {
        name: number
        for name in COUNTS
        if (number := whole_number(name.upper(), vars(args)[name.lower()], 4095, 0)) is not None
    }
    jobs = select_jobs(find_modules(), patterns, seeds, sim, args.build or None)
    return run_waves(jobs, Selection(), looked_at)


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    prepare_environment()
    interruptible()
    try:
        return _run(args)
    except (RunnerError, OSError) as error:
        print(f"{args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{args.command}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
