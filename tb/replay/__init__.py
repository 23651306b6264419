# SPDX-License-Identifier: Apache-2.0
"""Recorded runs, judged again without a simulator: docs/replay.md."""
