# SPDX-License-Identifier: Apache-2.0
"""Random lives: objects come and go, settings and rings change, while traffic runs."""
