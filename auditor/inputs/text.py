"""Bytes of a console or log as plain lines: any encoding, no colours, no cursor moves, no carriage returns.

What a person keeps of a terminal's output passed a shell, a CI system or an editor first. Nothing here knows
k6's words; `auditor.ingest.k6.dress` does.
"""

from __future__ import annotations

import codecs
import re

_SAMPLE_BYTES = 4096
_MANY_NULS = 0.3
"""Latin text in UTF-16 is half NUL bytes; nothing else that is text has any."""
CODE_PAGES = ("cp437", "cp850", "cp1252", "cp866", "cp1251", "cp1250", "latin-1", "mac-roman")
"""What Windows shells and old editors take bytes for."""
K6_MARKS = "█✓✗•↓↳—‾µ"
"""The characters beyond ASCII that k6 itself writes."""
_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS and the like
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_LINE_FEED = re.compile(r"\r*\n\r*")
_RETURN = re.compile(r"\r+")


def decode(data: bytes) -> str:
    """Text in UTF-8, UTF-16 (with a byte-order mark or without), or a code page of Windows.

    Bytes that are none of these become U+FFFD: a damaged file is still read.
    """
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return data.decode("utf-16", errors="replace")
    if bare := _utf16_without_mark(data):
        return data.decode(bare, errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _in_a_code_page(data) or data.decode("utf-8-sig", errors="replace")


def _utf16_without_mark(data: bytes) -> str:
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    if half < 8:
        return ""
    low, high = sample[0::2].count(0), sample[1::2].count(0)
    if high > _MANY_NULS * half and low < high / 8:
        return "utf-16-le"
    return "utf-16-be" if low > _MANY_NULS * half and high < low / 8 else ""


def _in_a_code_page(data: bytes) -> str:
    """Text of one byte a character, told by the marks of k6 that it gives; empty if it is damaged UTF-8."""
    if b"\0" in data[:_SAMPLE_BYTES] or re.search(rb"[\xc2-\xf4][\x80-\xbf]", data):
        return ""
    found = [(sum(text.count(mark) for mark in "█µ"), text) for text in _decoded(data)]
    return max(found, key=lambda f: f[0])[1] if found else ""


def _decoded(data: bytes) -> list[str]:
    texts = []
    for page in ("cp1252", "cp437"):
        try:
            texts.append(data.decode(page))
        except UnicodeDecodeError:
            continue
    return texts


def _misread_marks() -> dict[str, str]:
    """k6's marks as they look when their UTF-8 was taken for a code page: "Γ£ô" is "✓" in cp437."""
    table: dict[str, str] = {}
    for page in CODE_PAGES:
        for mark in K6_MARKS:
            wrong = mark.encode().decode(page, errors="ignore")
            if len(wrong) == len(mark.encode()):
                table.setdefault(wrong, mark)
    return table


_MISREAD = _misread_marks()
_MISREAD_FORM = re.compile("|".join(re.escape(wrong) for wrong in sorted(_MISREAD, key=len, reverse=True)))
_SAME_MARKS = str.maketrans({"✔": "✓", "√": "✓", "✘": "✗", "✕": "✗", "✖": "✗", "μ": "µ", "\xa0": " "})


def plain(text: str) -> str:
    """Text without colours and cursor moves, with the marks that a code page had spoiled."""
    if "\x1b" in text or _ANSI.search(text):
        text = _ANSI.sub("", text)
    if text.isascii():
        return text
    return _MISREAD_FORM.sub(lambda found: _MISREAD[found[0]], text).translate(_SAME_MARKS)


def lines_of(text: str) -> list[str]:
    """The lines of `plain` text. What a carriage return overwrites is a line of its own: all of it was printed.

    Only line feeds and carriage returns end a line: the other separators of Unicode may be part of a message.
    """
    if "\r" in text:
        text = _RETURN.sub("\n", _LINE_FEED.sub("\n", text).lstrip("\r"))
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines
