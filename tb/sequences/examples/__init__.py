# SPDX-License-Identifier: Apache-2.0
"""The worked examples of docs/write_a_sequence.md."""
