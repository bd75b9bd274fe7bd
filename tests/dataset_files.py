"""What files of data sets are made with."""

from __future__ import annotations

import hashlib
import io

import scipy.io


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def mat(do_compression=False, **matrices):
    """Return the bytes of a MATLAB 5 file."""
    file = io.BytesIO()
    scipy.io.savemat(file, matrices, do_compression=do_compression)
    return file.getvalue()
