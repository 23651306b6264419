# SPDX-License-Identifier: Apache-2.0
"""Makes simulations, proofs, lint and planted faults items of pytest (docs/regression.md)."""

pytest_plugins = ["tb.runner.plugin"]
