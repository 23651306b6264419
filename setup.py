# SPDX-License-Identifier: Apache-2.0
"""The package `carillon`: models/, tb/env/ and tb/sequences/ as carillon.models and carillon.tb, so
that it takes no other name at the top of site-packages.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

PARTS = ["models", "models.*", "tb", "tb.env", "tb.env.*", "tb.sequences", "tb.sequences.*"]
FOUND = find_namespace_packages(include=PARTS, exclude=["models.tests", "models.tests.*"])
OURS = re.compile(r"^(\s*(?:from|import) )(?=(?:models|tb)\b)", re.M)


WORK = Path("sim_build/package")
shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)


class Build(build_py):
    """Imports of the checkout become imports of the package."""

    def run(self) -> None:
        super().run()
        for path in Path(self.build_lib, "carillon").rglob("*.py"):
            path.write_text(OURS.sub(r"\1carillon.", path.read_text()))


setup(
    packages=["carillon", *(f"carillon.{name}" for name in FOUND)],
    package_dir={f"carillon.{name}": name.replace(".", "/") for name in FOUND},
    options={"build": {"build_base": str(WORK)}, "egg_info": {"egg_base": str(WORK)}},
    cmdclass={"build_py": Build},
)
