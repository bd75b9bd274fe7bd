"""Arrow files are mapped as they lie: what they hold is checked before it is touched."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

READ = """
import sys
from projse import ProjSe
from projse.exceptions import SourceError
try:
    ProjSe(1).fit_source(sys.argv[1], targets="y")
except SourceError as error:
    print(error)
    sys.exit(3)
"""


@pytest.mark.parametrize("opened", [pa.ipc.new_file, pa.ipc.new_stream])
def test_text_that_lies_outside_of_the_file_is_refused(tmp_path, opened):
    path = tmp_path / "part.arrow"
    numbers = np.arange(8.0)
    batch = pa.record_batch({"x": numbers % 3, "city": list("abababab"), "y": numbers**2 % 7})
    with opened(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    places, far = np.arange(9, dtype=np.int32), np.arange(9, dtype=np.int32)
    far[7] = 1 << 30
    content = path.read_bytes()
    assert content.count(places.tobytes()) == 1
    # In a process of its own, which touching that place ends with a segmentation fault.
    for text, code in ((places, 0), (far, 3)):
        path.write_bytes(content.replace(places.tobytes(), text.tobytes()))
        ended = subprocess.run(
            [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stderr
    assert "part.arrow cannot be read" in ended.stdout
    assert "restore it or remove it" in ended.stdout
