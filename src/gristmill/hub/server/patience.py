"""How long the server waits for a client: for the head of a request, and for anything to move while one is answered.

uvicorn waits for ever, and a few clients that send a byte now and then, or never read what they asked for, would keep
its connections, files and memory. What takes long on the server's side is no reason to hang up.
"""

from __future__ import annotations

import asyncio
import socket
import struct

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN = 30.0
"""Seconds within which the head of a request must be complete, once the connection is open or its first byte came."""
MOVE_WITHIN = 300.0
"""Seconds within which a byte must move while the server waits for the client to send or to read."""

# Where Linux tells how many bytes the other side has acknowledged and sent, after 8 bytes and 26 numbers of 4.
_TCP_INFO_COUNTS = 120
_TCP_INFO_SIZE = 136


class PatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with an end to waiting."""

    _head_timer: asyncio.TimerHandle | None = None
    _move_timer: asyncio.TimerHandle | None = None
    _moved: tuple[int, ...] = ()
    _still_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begins to wait for the first request."""
        super().connection_made(transport)
        self._await_head()
        self._still_since = self.loop.time()
        self._move_timer = self.loop.call_later(MOVE_WITHIN / 4, self._check_moves)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends all waiting."""
        super().connection_lost(exc)
        for timer in (self._head_timer, self._move_timer):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Takes what came; a head that has begun must end in time, however often a byte of it comes."""
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        """Goes on with the next request, which may have come already, whole or in part."""
        super().on_response_complete()
        self._watch_head()

    def _watch_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None
        elif self.conn.trailing_data[0] and self._head_timer is None:
            self._await_head()

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_WITHIN, self._give_up)

    def _give_up(self) -> None:
        # Without an answer: whoever sends the head of a request this slowly is not waiting for one.
        self.transport.abort()

    def _check_moves(self) -> None:
        if self.transport.is_closing():
            return
        now = self.loop.time()
        moved = (*_counts(self.transport), self.transport.get_write_buffer_size())
        if moved != self._moved or not self._waits_for_client():
            self._moved, self._still_since = moved, now
        elif now - self._still_since >= MOVE_WITHIN:
            self._give_up()
            return
        self._move_timer = self.loop.call_later(MOVE_WITHIN / 4, self._check_moves)

    def _waits_for_client(self) -> bool:
        cycle = getattr(self, "cycle", None)  # None before the first request, which uvicorn's types deny
        if cycle is None or cycle.response_complete:
            return False
        sends = self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused
        return sends or self.transport.get_write_buffer_size() > 0 or _unread(self.transport)


def _counts(transport: asyncio.Transport) -> tuple[int, ...]:
    """Gives how many bytes the client has received and sent, where the system tells."""
    connection = transport.get_extra_info("socket")
    try:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
        return struct.unpack_from("<QQ", told, _TCP_INFO_COUNTS)
    except (OSError, AttributeError, struct.error):
        return ()


def _unread(transport: asyncio.Transport) -> bool:
    """Says whether bytes wait in the system that the client does not take, also those of a file sent past us."""
    connection = transport.get_extra_info("socket")
    try:
        import fcntl
        import termios

        told = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
        return bool(struct.unpack("<i", told)[0])
    except (ImportError, OSError, AttributeError):
        return False
