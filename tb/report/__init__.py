# SPDX-License-Identifier: Apache-2.0
"""The report over all results: one static site that is opened from the file system."""
