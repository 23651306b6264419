# SPDX-License-Identifier: Apache-2.0
"""`make report`: the site under sim_build/report/ from what the last runs left."""

from __future__ import annotations

import sys

from tb.report.inputs import load_inputs
from tb.report.site import Site
from tb.runner.common import ROOT, SIM_BUILD, relative


def main() -> int:
    inputs = load_inputs(ROOT, SIM_BUILD)
    try:
        index = Site(inputs, SIM_BUILD / "report").write()
    except OSError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    for loaded in inputs.files.values():
        if loaded.problem:
            command = loaded.source.command
            made = f"; '{command}' makes it" if command else ""
            print(f"  {loaded.source.what}: {loaded.source.file} {loaded.problem}{made}")
    print(f"report: {relative(index)}; open {index.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
