"""Whether an endpoint is well, so that a change is said once however often it goes to and fro; pure."""

from __future__ import annotations


class Health:
    """Trouble begins with the first sign of it, and is over when all has been well for `steady` seconds.

    `now` is seconds of a clock that never goes back.
    """

    def __init__(self, steady: float) -> None:
        self._steady = steady
        self._well_since: float | None = None
        self.broken = False

    def trouble(self) -> bool:
        """Note a sign of trouble; true when it is the first."""
        begins = not self.broken
        self.broken = True
        self._well_since = None
        return begins

    def well(self, now: float) -> None:
        """Note that all went well."""
        if self._well_since is None:
            self._well_since = now

    def due(self, now: float) -> float | None:
        """Seconds until the trouble may be over; None when there is none, or no end in sight."""
        if not self.broken or self._well_since is None:
            return None
        return max(0.0, self._well_since + self._steady - now)

    def over(self, now: float) -> bool:
        """True once, when trouble has ended."""
        ends = self.due(now) == 0
        if ends:
            self.broken = False
        return ends
