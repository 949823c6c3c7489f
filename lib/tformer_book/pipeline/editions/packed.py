"""A PDF whose small objects are packed: tags by the hundred thousand would double its size."""

import io
from collections.abc import Iterator

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    PdfObject,
    StreamObject,
)

TOGETHER = 200
"""Objects in one stream."""


class PackedWriter(PdfWriter):
    """A writer of PDF 1.5: objects that are no streams stand in compressed streams together."""

    def packed(self) -> bytes:
        """The whole file (ISO 32000-1, 7.5.7 and 7.5.8)."""
        target = io.BytesIO()
        target.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        rows = {0: (0, 0, 65535)}
        small: list[tuple[int, PdfObject]] = []
        for number, one in enumerate(self._objects, start=1):
            if isinstance(one, StreamObject):
                rows[number] = _put(target, number, one)
            elif one is not None:
                small.append((number, one))
        number = len(self._objects)
        for held in _cut(small):
            number += 1
            rows[number] = _put(target, number, _stream_of(held))
            rows |= {one: (2, number, place) for place, (one, _) in enumerate(held)}
        number += 1
        rows[number] = (1, target.tell(), 0)
        table = b"".join(
            kind.to_bytes(1, "big") + place.to_bytes(4, "big") + more.to_bytes(2, "big")
            for kind, place, more in (rows.get(one, (0, 0, 65535)) for one in range(number + 1))
        )
        index = _stream(table, Type="/XRef", Size=number + 1)
        index[NameObject("/W")] = ArrayObject(map(NumberObject, (1, 4, 2)))
        index[NameObject("/Root")] = self.root_object.indirect_reference
        if self._info is not None:
            index[NameObject("/Info")] = self._info.indirect_reference
        _, place, _ = _put(target, number, index)
        target.write(f"startxref\n{place}\n%%EOF\n".encode())
        return target.getvalue()


def _cut(small: list[tuple[int, PdfObject]]) -> Iterator[list[tuple[int, PdfObject]]]:
    for start in range(0, len(small), TOGETHER):
        yield small[start : start + TOGETHER]


def _put(target: io.BytesIO, number: int, one: StreamObject) -> tuple[int, int, int]:
    place = target.tell()
    target.write(f"{number} 0 obj\n".encode())
    one.write_to_stream(target)
    target.write(b"\nendobj\n")
    return 1, place, 0


def _stream_of(held: list[tuple[int, PdfObject]]) -> StreamObject:
    body, places = io.BytesIO(), []
    for number, one in held:
        places.append(f"{number} {body.tell()}")
        one.write_to_stream(body)
        body.write(b"\n")
    head = (" ".join(places) + "\n").encode()
    return _stream(head + body.getvalue(), Type="/ObjStm", N=len(held), First=len(head))


def _stream(data: bytes, **entries: str | int) -> StreamObject:
    stream = StreamObject()
    stream.set_data(data)
    packed = stream.flate_encode()
    entry = {
        NameObject(f"/{key}"): NameObject(value) if isinstance(value, str) else NumberObject(value)
        for key, value in entries.items()
    }
    packed.update(DictionaryObject(entry))
    return packed
