"""Parser of WebSocket frames (RFC 6455, section 5.2), as far as the relay inspects them."""

from __future__ import annotations

import re

TEXT_FRAME = 0x81
"""First byte of a text message that is a single frame."""

MAX_HEADER_BYTES = 14

MAX_INSPECTED_BYTES = 4096
"""Resets that continue an episode or fork a snapshot are shorter."""

_MASKED, _LENGTH = 0x80, 0x7F
_LENGTH_BYTES = {126: 2, 127: 8}
"""Bytes of the length that follows a short length with this value."""

_FINAL, _CONTROL = 0x80, 0x08
_UNKNOWN = re.compile(rb'\{"type":"error","data":\{"message":"(?:unknown-episode|unknown-snapshot):')
_ERROR = re.compile(rb'\{"type":"error",')
_CONTINUES = re.compile(rb'"resume"\s*:\s*"|"injected_state"\s*:\s*\{')


def header_length(data: bytes | bytearray) -> int | None:
    """Return the length in bytes of the header of the frame at the start of the data; None if it is incomplete."""
    if len(data) < 2:
        return None
    length = 2 + _LENGTH_BYTES.get(data[1] & _LENGTH, 0) + (4 if data[1] & _MASKED else 0)
    return length if len(data) >= length else None


def frame_length(data: bytes | bytearray) -> int | None:
    """Return the length in bytes of the frame at the start of the data; None if its header is incomplete."""
    header = header_length(data)
    if header is None:
        return None
    short = data[1] & _LENGTH
    size = _LENGTH_BYTES.get(short)
    return header + (short if size is None else int.from_bytes(data[2 : 2 + size], "big"))


def is_control(data: bytes | bytearray) -> bool:
    """Return whether the frame is a ping, a pong or a close."""
    return bool(data[0] & _CONTROL)


def ends_message(first_byte: int) -> bool:
    """Return whether a frame with this first byte is the last or the only one of a message."""
    return bool(first_byte & _FINAL) and not first_byte & _CONTROL


class MessageCounter:
    """Counts the messages in a stream of frames, which is received in pieces of any size."""

    __slots__ = ("_header", "_left_of_frame")

    def __init__(self) -> None:
        self._left_of_frame = 0
        self._header = b""

    @property
    def is_within_frame(self) -> bool:
        """Return whether the last frame is incomplete."""
        return bool(self._left_of_frame or self._header)

    def count(self, data: bytes) -> int:
        """Return the number of messages whose last frame begins in the next piece of the stream."""
        data, at, messages = self._header + data, self._left_of_frame, 0
        self._header = b""
        while at < len(data):
            length = frame_length(data[at : at + MAX_HEADER_BYTES])
            if length is None:
                self._header, at = data[at:], len(data)
            else:
                messages += ends_message(data[at])
                at += length
        self._left_of_frame = at - len(data)
        return messages


def continues_episode(frame: bytes) -> bool:
    """Return whether a client's frame is a reset that continues an episode or forks a snapshot."""
    header = header_length(frame)
    if header is None or frame[0] != TEXT_FRAME or len(frame) > MAX_INSPECTED_BYTES or not frame[1] & _MASKED:
        return False
    text = _unmasked(frame, header)
    return b'"reset"' in text and _CONTINUES.search(text) is not None


def reports_unknown(frame: bytes | bytearray) -> bool:
    """Return whether a worker's frame is the error for an episode or a snapshot that it does not know."""
    header = header_length(frame)
    return header is not None and frame[0] == TEXT_FRAME and _UNKNOWN.match(frame, header) is not None


def reports_error(frame: bytes | bytearray) -> bool:
    """Return whether a worker's frame is an error."""
    header = header_length(frame)
    return header is not None and frame[0] == TEXT_FRAME and _ERROR.match(frame, header) is not None


def _unmasked(frame: bytes, header: int) -> bytes:
    """Return the payload of a masked frame, whose key is at the end of its header."""
    payload, key = frame[header:], frame[header - 4 : header]
    mask = (key * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(mask, "little")).to_bytes(len(payload), "little")
