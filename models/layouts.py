# SPDX-License-Identifier: Apache-2.0
"""Fixed sizes, offsets and limits of what crosses a pin, written out as the pages have them.

Sources: ``docs/interfaces.md``, ``docs/posting.md``, ``docs/receive.md``, ``docs/windows.md``.
"""

from __future__ import annotations

from typing import Final

#: Bytes of a doorbell page, and the offsets in it: portals (send, receive, shared receive), the end
#: of their part of a page, doorbells and status.
PAGE_BYTES: Final = 4096
SEND_PORTAL: Final = 0x000
RECV_PORTAL: Final = 0x040
SRQ_PORTAL: Final = 0x080
PORTALS_END: Final = 0x100
CQ_DB: Final = 0x100
CB_RETURN: Final = 0x108
SRQ_DB: Final = 0x110
PAGE_STATUS: Final = 0x140

#: Bytes of one completion entry, one event entry, one memory beat.
CQE_BYTES: Final = 32
EQE_BYTES: Final = 16
LINE_BYTES: Final = 64

#: Type field of an event entry: completion queue notification.
EQE_TYPE_CQ: Final = 1

#: All-ones of the 16-bit moderation settings: "the other one only" (CQ-21).
MOD_OTHER_ONLY: Final = 0xFFFF

#: Most bytes of one request.
MAX_LENGTH: Final = 1 << 31

#: Bits of a key, and of the number of its object (the top one of them: WINDOW_BIT).
KEY_BITS: Final = 32
KEY_REGION_BITS: Final = 12

#: Bit of a key's number that tells a window (1) from a region (0).
WINDOW_BIT: Final = 0x800

#: Generations of an object's keys: 20 bits; the last one is given, and no further one.
LAST_GENERATION: Final = (1 << KEY_BITS - KEY_REGION_BITS) - 1

#: What the number field of trace lane 8 holds with a command.
NO_QP: Final = 0xFFFF
