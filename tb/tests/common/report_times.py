# SPDX-License-Identifier: Apache-2.0
"""Times of trials with reports of connections that have ended, in cycles."""

from __future__ import annotations

#: Cycles in which a post is answered, or an event has its step, on an engine that does little else.
SOON = 16
LEAD = 200  # cycles from setting a trial up to its first report
