# SPDX-License-Identifier: Apache-2.0
"""What GTKWave and Surfer show of a run."""
