# SPDX-License-Identifier: Apache-2.0
"""Storms of keys: see key_storm.py."""

from __future__ import annotations

import pyuvm

from tb.tests.common.key_storm import StormTest

BUILD = ["engine", "engine_small", "engine_least", "engine_deep"]


@pyuvm.test()
class KeyStormTest(StormTest):
    """No device goes, no queue fails."""


@pyuvm.test()
class RemovalStormTest(StormTest):
    """The device is removed in the middle."""

    removal = 0.8


@pyuvm.test()
class FailingStormTest(StormTest):
    """The receive CQ fails between two entries, or overflows."""

    failing = 0.5
    unreserved = 0.5
