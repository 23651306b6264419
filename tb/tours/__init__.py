# SPDX-License-Identifier: Apache-2.0
"""Transition tours: small graphs of the reference model, and walks that drive every transition of
them into the RTL (docs/tours.md).
"""
