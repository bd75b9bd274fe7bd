"""Loaders, with files made here and with the real ones."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from dataset_files import mat

from projse import ProjSe, datasets
from projse.datasets import registry
from projse.datasets.content import read_content
from projse.exceptions import DatasetError, DatasetMissingError

# Loaders, with files made here: those whose originals have no known checksum


def write_carcinom(home, shape=(174, 9182), n_classes=11, **changes):
    rng = np.random.default_rng(0)
    (home / "carcinom").mkdir(exist_ok=True)
    X = rng.normal(size=shape)
    labels = np.arange(shape[0])[:, None] % n_classes + 1
    path = home / "carcinom" / "Carcinom.mat"
    path.write_bytes(mat(**{"X": X, "Y": labels} | changes))
    return path, X, labels.ravel()


def test_bunch_has_what_scikit_learn_users_expect(tmp_path):
    path, X, labels = write_carcinom(tmp_path)
    bunch = datasets.load_carcinom(data_home=tmp_path)
    assert np.array_equal(bunch.data, X)
    assert bunch.data.flags.c_contiguous
    assert bunch["target"].tolist() == (labels - 1).tolist()
    assert bunch.target_names == [str(label) for label in range(1, 12)]
    assert len(bunch.feature_names) == 9182
    assert bunch.frame is None
    assert bunch.filenames == [str(path)]
    assert bunch.DESCR.startswith("Carcinom\n---")
    data, target = datasets.load_carcinom(data_home=tmp_path, return_X_y=True)
    assert np.array_equal(data, X)
    assert np.array_equal(target, bunch.target)


def test_frames_have_names_and_the_same_values(tmp_path):
    pd = pytest.importorskip("pandas")
    write_carcinom(tmp_path)
    plain = datasets.load_carcinom(data_home=tmp_path)
    bunch = datasets.load_carcinom(data_home=tmp_path, as_frame=True)
    assert list(bunch.data.columns) == bunch.feature_names
    assert isinstance(bunch.target, pd.Series)
    assert bunch.target.name == "target"
    assert list(bunch.frame.columns) == [*bunch.feature_names, "target"]
    assert np.array_equal(bunch.data.to_numpy(), plain.data)
    assert np.array_equal(bunch.target, plain.target)
    X, y = datasets.load_carcinom(data_home=tmp_path, as_frame=True, return_X_y=True)
    assert isinstance(X, pd.DataFrame)
    assert isinstance(y, pd.Series)
    assert list(ProjSe(2).fit(X.iloc[:, :50], y).feature_names_in_) == bunch.feature_names[:50]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"shape": (173, 9182)},
            r"its shape is \(173, 9182\), but .*\(all\) has \(174, 9182\)",
        ),
        ({"shape": (174, 9181)}, r"its shape is \(174, 9181\)"),
        ({"n_classes": 10}, "10 classes, but Carcinom 11"),
        ({"Y": np.arange(173)[:, None]}, "173 labels for 174 rows"),
        ({"Y": np.ones((174, 2))}, r"Y has the shape \(174, 2\)"),
        ({"Y": np.linspace(0, 1, 174)[:, None]}, "not a class label"),
        ({"X": np.full((174, 9182), np.nan)}, "row 0 has missing"),
        ({"X": np.array([["text"]])}, "no MATLAB file of version 5 with numbers"),
    ],
)
def test_matlab_file_of_another_shape_is_refused(tmp_path, changes, why):
    path, _, _ = write_carcinom(tmp_path, **changes)
    with pytest.raises(DatasetError, match=f"{re.escape(str(path))} .*{why}"):
        datasets.load_carcinom(data_home=tmp_path)


def ts_text(n, length=750, n_classes=42, first=1):
    series = ",".join(["0.5"] * (length - 1))
    rows = [f"{row},{series}:{row % n_classes + first}" for row in range(n)]
    return "@univariate true\n@data\n" + "\n".join(rows) + "\n"


NAME = "NonInvasiveFetalECGThorax1"


def test_thorax_is_read_from_the_archive_and_from_loose_files(tmp_path, server):
    members = {f"{NAME}_TRAIN.ts": ts_text(1800), f"{NAME}_TEST.ts": ts_text(1965)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    (address,) = registry.THORAX.parts["train"][-1].addresses
    server.files[address.url] = packed.getvalue()
    whole = datasets.load_thorax(subset="all", data_home=tmp_path)
    assert server.asked == [address.url]
    assert whole.data.shape == (3765, 750)
    assert whole.target_names == [str(label) for label in range(1, 43)]
    assert whole.filenames == [str(tmp_path / "thorax" / f"{NAME}.zip")]
    for part, rows in (("train", slice(1800)), ("test", slice(1800, None))):
        loose = tmp_path / "loose" / "thorax" / f"{NAME}_{part.upper()}.ts"
        loose.parent.mkdir(parents=True, exist_ok=True)
        loose.write_text(members[loose.name])
        X, y = datasets.load_thorax(subset=part, data_home=tmp_path / "loose", return_X_y=True)
        assert np.array_equal(X, whole.data[rows])
        assert np.array_equal(y, whole.target[rows])
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"n": 1799}, r"its shape is \(1799, 750\)"),
        ({"n": 1800, "length": 749}, r"its shape is \(1800, 749\)"),
        ({"n": 1800, "n_classes": 41}, "41 classes"),
    ],
)
def test_time_series_of_another_shape_are_refused(tmp_path, changes, why):
    path = tmp_path / "thorax" / f"{NAME}_TRAIN.ts"
    path.parent.mkdir()
    path.write_text(ts_text(**changes))
    with pytest.raises(DatasetError, match=f"{re.escape(str(path))} .*{why}"):
        datasets.load_thorax(data_home=tmp_path)


def test_test_rows_with_other_labels_than_training_rows_are_refused(tmp_path):
    (tmp_path / "thorax").mkdir()
    (tmp_path / "thorax" / f"{NAME}_TRAIN.ts").write_text(ts_text(1800))
    (tmp_path / "thorax" / f"{NAME}_TEST.ts").write_text(ts_text(1965, first=0))
    with pytest.raises(DatasetError, match=r"TEST\.ts .*not those of the training part"):
        datasets.load_thorax(subset="all", data_home=tmp_path)


def write_mediamill(home, part, n, kind):
    """Write the same sparse rows as libsvm or as sparse ARFF."""
    rng = np.random.default_rng(n)
    features = rng.integers(120, size=n)
    labels = rng.integers(101, size=n)
    folder = home / "mediamill"
    folder.mkdir(parents=True, exist_ok=True)
    pairs = list(zip(features.tolist(), labels.tolist(), strict=True))
    if kind == "libsvm":
        text = "".join(f"{label} {feature + 1}:0.5\n" for feature, label in pairs)
        (folder / f"{part}-exp1.svm.bz2").write_bytes(bz2.compress(text.encode()))
    else:
        header = [f"@attribute Att{i} numeric" for i in range(1, 121)]
        header += [f"@attribute Class{i} {{0,1}}" for i in range(1, 102)]
        rows = [f"{{{feature} 0.5, {120 + label} 1}}" for feature, label in pairs]
        text = "\n".join(["@relation mediamill", *header, "@data", *rows])
        (folder / f"mediamill-{part}.arff.gz").write_bytes(gzip.compress(text.encode(), 1))


@pytest.mark.slow
def test_mediamill_is_the_same_from_libsvm_and_arff(tmp_path):
    bunches = []
    for kind in ("libsvm", "arff"):
        for part, n in (("train", 30993), ("test", 12914)):
            write_mediamill(tmp_path / kind, part, n, kind)
        bunches.append(datasets.load_mediamill(subset="all", data_home=tmp_path / kind))
    first, second = bunches
    assert first.data.shape == (43907, 120)
    assert first.target.shape == (43907, 101)
    assert np.array_equal(first.data, second.data)
    assert np.array_equal(first.target, second.target)
    assert first.target.sum() == 43907
    assert first.target_names[0] == "Class1"
    write_mediamill(tmp_path / "short", "test", 12913, "libsvm")
    with pytest.raises(DatasetError, match=r"test-exp1\.svm\.bz2 .*its shape is \(12913, 120\)"):
        datasets.load_mediamill(subset="test", data_home=tmp_path / "short")


@pytest.mark.slow
def test_without_pooch_files_at_hand_are_used_and_the_extra_is_named(tmp_path):
    write_carcinom(tmp_path)
    code = (
        "import sys; sys.modules['pooch'] = None\n"
        "from projse.datasets import load_carcinom\n"
        "assert load_carcinom().data.shape == (174, 9182)\n"
        "from projse.datasets import load_thorax\n"
        "try: load_thorax()\n"
        "except FileNotFoundError as error: assert 'projse-select[datasets]' in str(error), error\n"
        "import os; del os.environ['PROJSE_DATA']\n"
        "try: load_carcinom()\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PROJSE_DATA": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'projse-select[datasets]'" in done.stdout
    assert "PROJSE_DATA" in done.stdout


# Loaders, with the real files


def real(loader, **options):
    if not os.environ.get("PROJSE_DATA"):
        pytest.skip("PROJSE_DATA does not name a folder with the data sets")
    try:
        return loader(download_if_missing=False, **options)
    except DatasetMissingError as missing:
        pytest.skip(str(missing).splitlines()[0])


def test_real_glioma(server):
    bunch = real(datasets.load_glioma)
    assert bunch.data.shape == (50, 4434)
    assert bunch.data.dtype == np.float64
    np.testing.assert_allclose(bunch.data[0, :3], [1.87794695, 1.30103, 1.95036485])
    assert np.bincount(bunch.target).tolist() == [14, 7, 14, 15]
    assert bunch.target_names == ["1", "2", "3", "4"]


def test_real_eleven_tumors():
    bunch = real(datasets.load_eleven_tumors)
    assert bunch.data.shape == (174, 12533)
    assert bunch.data.dtype == np.float64
    assert bunch.data[0, :5].tolist() == [153, 228, 32, 30, -36]
    assert np.bincount(bunch.target).tolist() == [27, 8, 26, 23, 12, 11, 7, 26, 6, 14, 14]


@pytest.mark.parametrize(
    ("loader", "n_features", "n_classes", "first"),
    [
        (datasets.load_crop, 46, 24, {"train": (7200, 0.24, 0.316), "test": (16800, 0.178, 0.187)}),
        (datasets.load_shapesall, 512, 60, {"train": (600, 1.5877277), "test": (600, 1.5869918)}),
    ],
)
def test_real_time_series(loader, n_features, n_classes, first):
    for part, (n, *ends) in first.items():
        bunch = real(loader, subset=part)
        assert bunch.data.shape == (n, n_features)
        assert bunch.data.dtype == np.float64
        assert bunch.data[0, [0, -1]][: len(ends)].tolist() == ends
        assert np.bincount(bunch.target).tolist() == [n // n_classes] * n_classes
        assert bunch.target_names == [str(label) for label in range(1, n_classes + 1)]
    whole = real(loader, subset="all", return_X_y=True)
    assert len(whole[0]) == len(whole[1]) == sum(n for n, *_ in first.values())
    assert whole[0][0, 0] == first["train"][1]
    assert whole[0][first["train"][0], 0] == first["test"][1]


def test_real_mnist():
    train = real(datasets.load_mnist)
    assert train.data.shape == (60000, 784)
    assert train.data.dtype == np.uint8
    assert train.target[:5].tolist() == [5, 0, 4, 1, 9]
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(train.target).tolist() == counts
    assert train.data.mean() == pytest.approx(33.318421, abs=1e-6)
    test = real(datasets.load_mnist, subset="test")
    assert test.data.shape == (10000, 784)
    assert test.target[:5].tolist() == [7, 2, 1, 0, 4]
    X, y = real(datasets.load_mnist, subset="all", return_X_y=True)
    assert X.shape == (70000, 784)
    assert np.array_equal(X[60000:], test.data)
    assert np.array_equal(y[:60000], train.target)


def test_real_mnist_halves_are_the_left_and_the_right_of_the_whole():
    whole = real(datasets.load_mnist, subset="test")
    halves = real(datasets.load_mnist_halves, subset="test")
    assert halves.data.shape == halves.target.shape == (10000, 392)
    sides = [side.reshape(-1, 28, 14) for side in (halves.data, halves.target)]
    assert np.array_equal(np.concatenate(sides, axis=2).reshape(-1, 784), whole.data)
    assert np.array_equal(halves.labels, whole.target)
    names = set(halves.feature_names) | set(halves.target_names)
    assert names == set(whole.feature_names)
    column = whole.feature_names.index(halves.target_names[200])
    assert np.array_equal(halves.target[:, 200], whole.data[:, column])
    frames = real(datasets.load_mnist_halves, subset="test", as_frame=True)
    assert list(frames.target.columns) == halves.target_names
    assert frames.frame.shape == (10000, 784)


def test_real_mediamill_subset():
    sums = {}
    for part, n in (("train", 1500), ("test", 500)):
        bunch = real(datasets.load_mediamill_subset, subset=part)
        assert bunch.data.shape == (n, 120)
        assert bunch.target.shape == (n, 101)
        assert bunch.target.dtype == np.uint8
        sums[part] = int(bunch.target.sum())
    bunch = real(datasets.load_mediamill_subset)
    assert bunch.data[0, :2].tolist() == [0.416212, 0.5459]
    assert (bunch.feature_names[0], bunch.feature_names[-1]) == ("Att1", "Att120")
    assert (bunch.target_names[0], bunch.target_names[-1]) == ("Class1", "Class101")
    whole = real(datasets.load_mediamill_subset, subset="all", as_frame=True)
    assert whole.frame.shape == (2000, 221)
    assert whole.target.to_numpy().sum() == sum(sums.values())


@pytest.mark.slow
def test_real_cifar100(tmp_path):
    bunch = real(datasets.load_cifar100)
    assert bunch.data.shape == (50000, 3072)
    assert bunch.data.dtype == np.uint8
    assert np.bincount(bunch.target).tolist() == [500] * 100
    assert bunch.target_names[:3] == ["apple", "aquarium_fish", "baby"]
    if bunch.filenames[0].endswith(".npz"):
        assert bunch.data[0, :3].tolist() == [252, 255, 254]


def test_real_file_that_was_cut_or_changed_is_refused(tmp_path, server):
    source = Path(real(datasets.load_glioma).filenames[0])
    path = tmp_path / "glioma" / "GLIOMA.mat"
    path.parent.mkdir()
    whole = source.read_bytes()
    changed = bytearray(whole)
    changed[-1000] ^= 1
    for content in (whole[:-1], whole[:1000], b"", bytes(changed)):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match=f"{re.escape(str(path))} .*sha256 is"):
            datasets.load_glioma(data_home=tmp_path)
    assert server.asked == []


def test_real_file_may_be_unpacked_or_packed_anew(tmp_path, server):
    bunch = real(datasets.load_shapesall)
    content = read_content(Path(bunch.filenames[0]))
    folder = tmp_path / "shapesall"
    folder.mkdir()
    for name, pack in (
        ("ShapesAll_TRAIN.tsv", bytes),
        ("ShapesAll_TRAIN.tsv.gz", lambda c: gzip.compress(c, 1)),
    ):
        (folder / name).write_bytes(pack(content))
        again = datasets.load_shapesall(data_home=tmp_path)
        assert again.filenames == [str(folder / name)]
        assert np.array_equal(again.data, bunch.data)
    assert server.asked == []
