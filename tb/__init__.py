# SPDX-License-Identifier: Apache-2.0
"""The bench. ``CARILLON_COMPILED``: see :mod:`tb.compiled`."""

import os

if os.environ.get("CARILLON_COMPILED"):
    from tb import compiled

    compiled.install()
