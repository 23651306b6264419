# SPDX-License-Identifier: Apache-2.0
"""Random traffic: every object kind, one emphasis each."""
