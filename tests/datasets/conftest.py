"""No test touches the network: the downloader is replaced in all of them."""

from __future__ import annotations

from pathlib import Path

import pooch
import pytest


class Server:
    """Stands in for the network: has what it was given, and counts what it is asked for."""

    def __init__(self):
        self.files = {}
        self.asked = []

    def answer(self, url, output_file):
        self.asked.append(url)
        if url not in self.files:
            raise OSError("no route to host")
        Path(output_file).write_bytes(self.files[url])


@pytest.fixture(autouse=True)
def server(monkeypatch):
    server = Server()

    def download(self, url, output_file, pooch, check_only=False):
        server.answer(url, output_file)

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", download)
    return server
