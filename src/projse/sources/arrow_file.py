"""Arrow files: Feather 2, and streams that were stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from projse.sources.file_part import FilePart
from projse.sources.parts import Reading, import_arrow


class IpcPart(FilePart):
    """An Arrow file (Feather 2) or a file that holds an Arrow stream."""

    remedy = "It may be cut short or no Arrow file: restore it or remove it."

    def _reader(self, included: list[int] | None = None) -> Any:
        pa = import_arrow()
        options = pa.ipc.IpcReadOptions(included_fields=included)
        source = self._opened()
        if source.read(6) == b"ARROW1":
            return pa.ipc.open_file(source, options=options)
        source.seek(0)
        return pa.ipc.open_stream(source, options=options)

    def _read_schema(self) -> Any:
        return self._reader().schema

    def _read(self, names: list[str], reading: Reading) -> tuple[Any, Iterator[Any]]:
        places = [self._schema.get_field_index(name) for name in names]
        reader = self._reader(places or None)

        def batches() -> Iterator[Any]:
            if not hasattr(reader, "num_record_batches"):
                yield from map(_validated, reader)
                return
            for i in range(reader.num_record_batches):
                self.done = i / reader.num_record_batches
                yield _validated(reader.get_batch(i))

        return reader.schema, batches()


def _validated(batch: Any) -> Any:
    """Refuse a batch whose offsets or codes point outside of it.

    Arrow maps buffers as they lie: to touch what such offsets point to may end the process.
    """
    batch.validate(full=True)
    return batch
