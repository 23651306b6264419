# SPDX-License-Identifier: Apache-2.0
"""Builds the simulations, runs the tests and judges their results."""
