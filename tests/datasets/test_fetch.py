"""The data home, and files that are found or downloaded once, and checked."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pooch
import pytest
from dataset_files import sha256

from projse import datasets
from projse.datasets import registry
from projse.datasets.dataset import Address, DataFile, DataSet
from projse.datasets.fetch import locate
from projse.exceptions import DatasetError, DatasetMissingError

LOADERS = [getattr(datasets, name) for name in datasets.__all__ if name.startswith("load_")]
SPLIT = [loader for loader in LOADERS if "subset" in (loader.__kwdefaults__ or {})]
REGISTERED = [value for value in vars(registry).values() if isinstance(value, DataSet)]


# The data home and downloads


def test_data_home_is_the_argument_then_the_environment_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PROJSE_DATA", str(tmp_path / "environment"))
    assert datasets.get_data_home(tmp_path / "argument") == tmp_path / "argument"
    assert datasets.get_data_home() == tmp_path / "environment"
    monkeypatch.setenv("PROJSE_DATA", "")
    assert datasets.get_data_home() == Path(pooch.os_cache("projse"))
    monkeypatch.delenv("PROJSE_DATA")
    assert datasets.get_data_home() == Path(pooch.os_cache("projse"))
    assert datasets.get_data_home("~/data") == Path.home() / "data"


CONTENT = b"the content of a file"
URL, MIRROR = "https://example.org/a.txt", "https://mirror.example.org/a.txt"


def one_file(*addresses, path="folder/a.txt", **options):
    file = DataFile(path, addresses or (Address(URL, sha256(CONTENT)),), **options)
    return DataSet("Small", {"all": (file,)}, {"all": 1}, 1, 1, "about")


def test_missing_file_is_downloaded_once_and_checked(tmp_path, server):
    server.files[URL] = CONTENT
    for _ in range(3):
        paths = locate(one_file(), ["all"], tmp_path / "new", True)
        assert paths["all"] == tmp_path / "new" / "folder" / "a.txt"
        assert paths["all"].read_bytes() == CONTENT
    assert server.asked == [URL]


def test_file_at_hand_is_never_downloaded(tmp_path, server):
    path = tmp_path / "folder" / "a.txt"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert locate(one_file(), ["all"], tmp_path, True) == {"all": path}
    path.write_bytes(b"damaged")
    with pytest.raises(DatasetError, match="damaged or another version"):
        locate(one_file(), ["all"], tmp_path, True)
    assert path.read_bytes() == b"damaged"  # somebody's file is not overwritten
    assert server.asked == []


def test_mirror_is_asked_when_the_first_address_fails_or_sends_something_else(tmp_path, server):
    addresses = [Address(url, sha256(CONTENT)) for url in (URL, MIRROR)]
    for number, first in enumerate((None, b"something else")):
        server.files = {MIRROR: CONTENT} | ({URL: first} if first else {})
        found = locate(one_file(*addresses), ["all"], tmp_path / str(number), True)
        assert found["all"].read_bytes() == CONTENT
        assert [entry.name for entry in found["all"].parent.iterdir()] == ["a.txt"]
    assert server.asked == [URL, MIRROR] * 2


def test_download_with_a_wrong_checksum_is_not_kept(tmp_path, server):
    server.files[URL] = b"something else"
    with pytest.raises(DatasetMissingError, match=r"(?s)The download failed.*hash.*does not match"):
        locate(one_file(), ["all"], tmp_path, True)
    assert list((tmp_path / "folder").iterdir()) == []


def test_without_a_network_the_error_says_what_from_where_and_where_to(tmp_path, server):
    addresses = [Address(url, sha256(CONTENT)) for url in (URL, MIRROR)]
    with pytest.raises(DatasetMissingError) as caught:
        locate(one_file(*addresses), ["all"], tmp_path, True)
    message = str(caught.value)
    assert "Small is not at hand" in message
    assert "no route to host" in message
    for url in (URL, MIRROR):
        assert f"{url}\n    -> {tmp_path / 'folder' / 'a.txt'}" in message
    assert "PROJSE_DATA" in message
    assert isinstance(caught.value, FileNotFoundError)
    assert server.asked == [URL, MIRROR]


def test_only_what_is_missing_is_asked_for(tmp_path):
    kinds = ("images", "labels", "notes")
    parts = {kind: (DataFile(kind, (Address(f"https://example.org/{kind}"),)),) for kind in kinds}
    dataset = replace(one_file(), parts=parts)
    for kind in ("images", "notes"):
        (tmp_path / kind).write_bytes(CONTENT)
    with pytest.raises(DatasetMissingError) as caught:
        locate(dataset, kinds, tmp_path, True)
    message = str(caught.value)
    assert f"https://example.org/labels\n    -> {tmp_path / 'labels'}" in message
    assert "images" not in message
    assert "notes" not in message


def test_nothing_is_downloaded_when_that_is_switched_off(tmp_path, server):
    server.files[URL] = CONTENT
    with pytest.raises(DatasetMissingError, match=r"download_if_missing=False"):
        locate(one_file(), ["all"], tmp_path, False)
    assert server.asked == []
    assert list(tmp_path.iterdir()) == []


def test_data_home_that_cannot_be_written_is_named(tmp_path, server):
    server.files[URL] = CONTENT
    (tmp_path / "folder").write_bytes(b"a file where the folder should be")
    with pytest.raises(DatasetMissingError, match=re.escape(str(tmp_path))):
        locate(one_file(), ["all"], tmp_path, True)


def test_packed_file_of_another_checksum_is_unpacked_no_further_than_its_data_set(tmp_path):
    """64 MiB of zeros in 64 kB: told by its size, without holding any of it."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    dataset = one_file(path="a.txt.gz")
    tracemalloc.start()
    with pytest.raises(DatasetError, match=rf"{re.escape(str(path))}.*{dataset.max_bytes} bytes"):
        locate(dataset, ["all"], tmp_path, True)
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()


@pytest.mark.parametrize("dataset", REGISTERED, ids=lambda dataset: dataset.name)
def test_limit_of_a_data_set_is_above_its_values_and_below_a_bomb(dataset):
    values = sum(dataset.n_samples.values()) * dataset.n_features
    assert values < dataset.max_bytes < 1 << 30


def test_packed_file_may_be_packed_by_anybody(tmp_path):
    path = tmp_path / "a.txt.gz"
    dataset = one_file(Address(URL, sha256(b"as packed by others")), path="a.txt.gz")
    content = replace(dataset.parts["all"][0], sha256=(sha256(CONTENT),))
    dataset = replace(dataset, parts={"all": (content,)})
    for level in (1, 9):
        path.write_bytes(gzip.compress(CONTENT, level))
        assert locate(dataset, ["all"], tmp_path, False) == {"all": path}
    path.write_bytes(gzip.compress(CONTENT + b"!"))
    with pytest.raises(DatasetError, match=f"{re.escape(str(path))}.*sha256.*{URL}"):
        locate(dataset, ["all"], tmp_path, False)


def test_one_archive_for_two_parts_is_downloaded_once(tmp_path, server):
    archive = DataFile("a.zip", (Address(URL),))
    parts = {"train": (DataFile("train.txt"), archive), "test": (DataFile("test.txt"), archive)}
    dataset = replace(one_file(), parts=parts)
    server.files[URL] = CONTENT
    assert set(locate(dataset, ["train", "test"], tmp_path, True).values()) == {tmp_path / "a.zip"}
    assert server.asked == [URL]
    (tmp_path / "test.txt").write_bytes(b"preferred")
    assert locate(dataset, ["test"], tmp_path, True)["test"] == tmp_path / "test.txt"


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
def test_every_loader_says_how_to_get_what_is_missing(loader, tmp_path, server):
    with pytest.raises(DatasetMissingError) as caught:
        loader(data_home=tmp_path)
    message = str(caught.value)
    assert "no route to host" in message
    assert set(server.asked) <= set(re.findall(r"https://\S+", message))
    assert f"-> {tmp_path}" in message
    asked = len(server.asked)
    with pytest.raises(DatasetMissingError, match="download_if_missing=False"):
        loader(data_home=tmp_path, download_if_missing=False)
    assert len(server.asked) == asked > 0


@pytest.mark.parametrize("loader", SPLIT, ids=lambda loader: loader.__name__)
def test_unknown_subset_is_refused(loader, tmp_path):
    with pytest.raises(ValueError, match="subset='valid' is none of 'train', 'test' and 'all'"):
        loader(subset="valid", data_home=tmp_path)


@pytest.mark.parametrize("dataset", REGISTERED, ids=lambda dataset: dataset.name)
def test_registry_is_well_formed(dataset):
    for files in dataset.parts.values():
        assert any(file.addresses for file in files), "there is a way to get it"
        for file in files:
            path = Path(file.path)
            assert len(path.parts) == 2
            assert not path.is_absolute()
            assert ".." not in path.parts
            assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in file.accepted)
            assert all(address.url.startswith("https://") for address in file.addresses)
    assert "Source: " in dataset.description
    assert "Licence: " in dataset.description
