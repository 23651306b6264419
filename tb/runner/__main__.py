# SPDX-License-Identifier: Apache-2.0
"""Command line of the runner; the Makefile's targets are thin wrappers around it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tb.runner.common import RunnerError, prepare_environment


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tb.runner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def selection(command: argparse.ArgumentParser) -> None:
        command.add_argument("--test", default="", help="tests: name, module or module.name; globs")
        command.add_argument("--seed", default="", help="one seed")
        command.add_argument("--seeds", default="", help="a count, or a list such as 3,8,20-25")
        command.add_argument("--sim", default="", help="verilator or icarus")
        command.add_argument("--build", default="", help="only this build of tb/builds.yaml")

    sim = commands.add_parser("sim", help="run the simulation regression")
    selection(sim)
    sim.add_argument("--jobs", default="", help="parallel processes")
    sim.add_argument("--timeout", default="", help="wall-clock limit of one job, in seconds")
    tours = commands.add_parser("tours", help="run the transition tours and their report")
    tours.add_argument("--jobs", default="", help="parallel processes")
    tours.set_defaults(seed="", seeds="", sim="", build="", timeout="")
    waves = commands.add_parser("waves", help="rerun one test and record waves")
    selection(waves)
    commands.add_parser("list", help="list the simulation jobs").add_argument(
        "--test", default="", help="as for sim"
    )
    commands.add_parser("lint", help="run the static checks")
    commands.add_parser("bench", help="run the speed measurements")
    negatives = commands.add_parser(
        "negatives", help="run the tests on faulty copies of the design"
    )
    negatives.add_argument("--fault", default="", help="faults of tb/faults/*.yaml; globs")
    negatives.add_argument("--jobs", default="", help="parallel faults")
    coverage = commands.add_parser("coverage", help="measure code coverage of hdl/")
    coverage.add_argument("--test", default="", help="only these tests; globs")
    coverage.add_argument("--jobs", default="", help="parallel simulation processes")
    coverage.add_argument("--point", default="", help="who hit it: file:line or file:signal")
    coverage.add_argument("--again", action="store_true", help="judge the last run once more")
    commands.add_parser("trace", help="check functional coverage and traceability of the last sim")
    formal = commands.add_parser("formal", help="run the proofs of formal/*/proofs.yaml")
    formal.add_argument("--proof", default="", help="proofs: id; globs, several with commas")
    formal.add_argument("--quick", action="store_true", help="only those that `make test` runs")
    formal.add_argument(
        "--planted", action="store_true", help="each proof with its planted faults instead"
    )
    formal.add_argument("--jobs", default="", help="parallel proofs")
    mutate = commands.add_parser("mutate", help="run the tests on mutants of the design")
    mutate.add_argument("--count", default="", help="how many mutants (default 1000)")
    mutate.add_argument("--seed", default="", help="seed of their choice (default 1)")
    mutate.add_argument("--module", default="", help="only mutants of these modules; a glob")
    mutate.add_argument("--jobs", default="", help="parallel mutants")
    mutate.add_argument("--prove-seconds", default="", help="limit of the proofs of one mutant")
    soak = commands.add_parser("soak", help="run random traffic for long")
    soak.add_argument("--completions", default="", help="completions to judge")
    soak.add_argument("--seed", default="", help="seed of the campaign; resumes it")
    soak.add_argument("--jobs", default="", help="parallel processes")
    faults = commands.add_parser("faults", help="run the campaign of external faults")
    faults.add_argument("--fault", default="", help="rows of tb/tests/campaigns/faults.yaml; globs")
    faults.add_argument("--jobs", default="", help="parallel processes")
    commands.add_parser("model", help="run the model's tests")
    test = commands.add_parser("test", help="run everything")
    test.add_argument("--jobs", default="", help="parallel simulation processes")
    return parser


def _number(name: str, text: str) -> int | None:
    """Options come from make, which passes unset variables as empty words."""
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise RunnerError(f"{name}={text}: must be a whole number from 1")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    # Late imports: `--help` and a wrong option answer at once.
    if args.command == "lint":
        from tb.runner.lint import run_lint

        return 1 if run_lint()[1] else 0
    if args.command == "bench":
        from tb.runner.bench import run_bench

        return run_bench()
    if args.command == "negatives":
        from tb.runner.negatives import run_negatives

        faults = args.fault.replace(",", " ").split()
        return 1 if run_negatives(faults, _number("JOBS", args.jobs))[1] else 0
    if args.command == "trace":
        from tb.runner.trace import run_trace

        return 1 if run_trace()[1] else 0
    if args.command == "coverage":
        from tb.runner.code_report import run_coverage

        tests = args.test.replace(",", " ").split()
        return run_coverage(tests, _number("JOBS", args.jobs), args.point, args.again)
    if args.command == "formal":
        from tb.runner.formal import run_formal

        wanted = args.proof.replace(",", " ").split()
        processes = _number("JOBS", args.jobs)
        return 1 if run_formal(wanted, processes, args.quick, args.planted)[1] else 0
    if args.command == "mutate":
        from tb.runner.mutate import run_mutate

        left = run_mutate(
            _number("COUNT", args.count) or 1000,
            _number("SEED", args.seed) or 1,
            args.module,
            _number("JOBS", args.jobs),
            _number("PROVE", args.prove_seconds) or 60,
        )
        return 1 if left else 0
    if args.command == "soak":
        from tb.runner.soak import run_soak

        target, seed = _number("N", args.completions), _number("SEED", args.seed)
        return run_soak(target, seed, _number("JOBS", args.jobs))
    if args.command == "faults":
        from tb.runner.faults import run_faults

        rows = args.fault.replace(",", " ").split()
        return run_faults(rows, _number("JOBS", args.jobs))
    if args.command in ("test", "model"):
        from tb.runner.suite import run_pytest, run_suite

        if args.command == "test":
            return run_suite(_number("JOBS", args.jobs))
        return 1 if run_pytest(("models/tests",))[1] else 0

    from tb.runner.discover import TOURS, find_modules, parse_seeds, select_jobs

    patterns = [TOURS] if args.command == "tours" else args.test.replace(",", " ").split()
    if args.command == "list":
        for job in select_jobs(find_modules(), patterns):
            print(job.reproduce())
        return 0
    seed = _number("SEED", args.seed)
    seeds = parse_seeds(args.seeds) if args.seeds else None
    jobs = select_jobs(
        find_modules(),
        patterns,
        (seed,) if seed else seeds,
        # Naming a test or seed asks for exactly that, not for Icarus copies as well.
        args.sim or ("verilator" if args.command == "waves" or (patterns and seed) else None),
        args.build or None,
    )
    if args.command == "waves":
        from tb.runner.waves import run_waves

        return run_waves(jobs)
    from tb.runner.regress import regression

    results, missing = regression(
        jobs, _number("JOBS", args.jobs), _number("TIMEOUT", args.timeout)
    )
    return 0 if not missing and all(result.verdict.ok for result in results) else 1


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    prepare_environment()
    try:
        return _run(args)
    except RunnerError as error:
        print(f"{args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{args.command}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
