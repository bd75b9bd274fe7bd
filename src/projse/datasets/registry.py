"""The register of data sets: their files, public addresses, checksums, shapes and sources.

A checksum (sha256) stands here only where it was computed from a file, or where several projects
publish the same one for the address beside it. Where none is known, none is given: such a file is
checked by its format, its shape and its labels alone.
"""

from __future__ import annotations

from projse.datasets.dataset import Address, DataFile, DataSet

LICENCE = "Licence: none known to us; ask at the source before you pass the data on."
SNOEK = (
    "Reference: Snoek, Worring, van Gemert, Geusebroek, Smeulders: The challenge problem for\n"
    "automated detection of 101 semantic concepts in multimedia. ACM Multimedia, 2006.\n"
)
UCR = (
    "Reference: Dau, Bagnall, Kamgar, Yeh, Zhu, Gharghabi, Ratanamahatana, Keogh: The UCR time\n"
    "series archive. IEEE/CAA Journal of Automatica Sinica 6(6), 2019.\n"
    "Licence: none known to us; the archive is there for research, and asks to be cited."
)


def _ucr(
    folder: str,
    name: str,
    train: tuple[str, ...] = (),
    test: tuple[str, ...] = (),
    *,
    tsv_in: str | None = None,
) -> dict[str, tuple[DataFile, ...]]:
    """List the formats that the parts of a UCR data set come in, and the archive of both.

    ``train`` and ``test`` are checksums, of a packed table and of its content, where known;
    ``tsv_in`` is where the tables can be had unpacked.
    """

    def files(part: str, checksums: tuple[str, ...]) -> tuple[DataFile, ...]:
        stem, content = f"{folder}/{name}_{part}", checksums[1:]
        tsv = (Address(f"{tsv_in}/{name}_{part}.tsv", *content),) if tsv_in else ()
        archive = f"https://www.timeseriesclassification.com/aeon-toolkit/{name}.zip"
        return (
            DataFile(f"{stem}.tsv.gz", (), checksums),
            DataFile(f"{stem}.tsv", tsv, content),
            *(DataFile(f"{stem}.{ending}") for ending in ("ts", "txt", "arff")),
            DataFile(f"{folder}/{name}.zip", (Address(archive),)),
        )

    return {"train": files("TRAIN", train), "test": files("TEST", test)}


def _mnist(file: str, official: str, of_gz: str, of_content: str) -> tuple[DataFile, ...]:
    mirrors = (
        f"https://ossci-datasets.s3.amazonaws.com/mnist/{file}.gz",
        f"https://storage.googleapis.com/cvdf-datasets/mnist/{file}.gz",
    )
    addresses = tuple(Address(mirror, official) for mirror in mirrors)
    return (
        DataFile(f"mnist/{file}.gz", addresses, (of_gz, of_content)),
        DataFile(f"mnist/{file}", (), (of_content,)),
    )


def _mediamill(part: str) -> tuple[DataFile, ...]:
    libsvm = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel/mediamill"
    file = f"{part}-exp1.svm"
    return (
        DataFile(f"mediamill/{file}.bz2", (Address(f"{libsvm}/{file}.bz2"),)),
        DataFile(f"mediamill/{file}"),
        DataFile(f"mediamill/mediamill-{part}.arff.gz"),
        DataFile(f"mediamill/mediamill-{part}.arff"),
    )


def _mediamill_subset(part: str, of_gz: str, of_content: str) -> tuple[DataFile, ...]:
    commit = "83eab85bfe99a8486ea3e6470dd5a679786b08c6"
    file = f"mediamill-{part}.arff"
    url = (
        "https://raw.githubusercontent.com/YoungHJung/OnlineMLRBoostingWithVFDT/"
        f"{commit}/data/mediamill_reduced/{file}"
    )
    return (
        DataFile(f"mediamill_subset/{file}.gz", (), (of_gz, of_content)),
        DataFile(f"mediamill_subset/{file}", (Address(url, of_content),)),
    )


GLIOMA_SHA256 = "c31cd32edd770c7a102729839e670e588bc959a591e0eae5a0676c9ca11d4c4f"
GLIOMA = DataSet(
    name="GLIOMA",
    parts={
        "all": (
            DataFile(
                "glioma/GLIOMA.mat",
                (
                    Address(
                        "https://raw.githubusercontent.com/jundongl/scikit-feature/master/"
                        "skfeature/data/GLIOMA.mat",
                        GLIOMA_SHA256,
                    ),
                    Address(
                        "https://jundongl.github.io/scikit-feature/files/datasets/GLIOMA.mat",
                        GLIOMA_SHA256,
                    ),
                ),
            ),
        )
    },
    n_samples={"all": 50},
    n_features=4434,
    n_targets=4,
    about=(
        "Gene expression of malignant gliomas, four classes of 14, 7, 14 and 15 samples.\n"
        "The file numbers the classes 1 to 4 and names neither them nor the genes.\n\n"
        "Source: the scikit-feature repository, https://github.com/jundongl/scikit-feature\n"
        "Reference: Nutt et al.: Gene expression-based classification of malignant gliomas\n"
        "correlates better with survival than histological classification. Cancer Research 63(7),\n"
        f"2003.\n{LICENCE}"
    ),
)

CARCINOM = DataSet(
    name="Carcinom",
    parts={
        "all": (
            DataFile(
                "carcinom/Carcinom.mat",
                (Address("https://jundongl.github.io/scikit-feature/files/datasets/Carcinom.mat"),),
            ),
        )
    },
    n_samples={"all": 174},
    n_features=9182,
    n_targets=11,
    about=(
        'Gene expression of human carcinomas, eleven classes; the paper\'s "Carcinoma".\n'
        "No checksum of this file is known to us: its shape and labels are checked.\n\n"
        "Source: the scikit-feature data sets, https://jundongl.github.io/scikit-feature\n"
        "References: Su et al.: Molecular classification of human carcinomas by use of gene\n"
        "expression signatures. Cancer Research 61(20), 2001. Yang, Cai, Li, Lin: A stable gene\n"
        f"selection in microarray data analysis. BMC Bioinformatics 7, 2006.\n{LICENCE}"
    ),
)

ELEVEN_TUMORS = DataSet(
    name="11_Tumors",
    parts={
        "all": (
            DataFile(
                "eleven_tumors/11Tumor.mat",
                (
                    Address(
                        "https://raw.githubusercontent.com/wzkhan89/TOCDMB_Sourcecode/"
                        "3148ec4e16fb2460fa93c8710c712eed1ad1d573/data/11Tumor.mat",
                        "c372e8d325febdc3ce9f31dc4a8b7bcb5ca82b12332ede3ad9d204b13d6ac7cc",
                    ),
                ),
            ),
        )
    },
    n_samples={"all": 174},
    n_features=12533,
    n_targets=11,
    about=(
        "Gene expression of eleven kinds of human tumours: raw intensities, whole numbers.\n"
        "Not the same as Carcinom, though it has as many samples and classes.\n"
        "The file numbers the classes 0 to 10 and names neither them nor the genes.\n\n"
        "Source: https://github.com/wzkhan89/TOCDMB_Sourcecode, data/11Tumor.mat\n"
        "References: Su et al.: Molecular classification of human carcinomas by use of gene\n"
        "expression signatures. Cancer Research 61(20), 2001. Statnikov et al.: A comprehensive\n"
        "evaluation of multicategory classification methods for microarray gene expression cancer\n"
        f"diagnosis. Bioinformatics 21(5), 2005.\n{LICENCE}"
    ),
)

CROP = DataSet(
    name="Crop",
    parts=_ucr(
        "crop",
        "Crop",
        (
            "8023995533aac22cd536d04e2078c1c2ef0e2eb5521399b9bc8189e4d0dea7b5",
            "43977038db988d19341a476e1124978c837e6e1cbf48a4dd254622cf3dc058bf",
        ),
        (
            "3067c616f54d08e1ab758a007fb1ab5aa3c6d41f6a7ce264a809a7ff2a3684de",
            "688f7a25e0617f4eef376fe49a054e03b179b11cfa28fee77e3c01f3a9e85dd2",
        ),
    ),
    n_samples={"train": 7200, "test": 16800},
    n_features=46,
    n_targets=24,
    about=(
        "Satellite image pixels over time, one class for each kind of land cover.\n\n"
        "Source: https://www.timeseriesclassification.com/description.php?Dataset=Crop\n"
        "Reference: Tan, Webb, Petitjean: Indexing and classifying gigabytes of time series under\n"
        f"time warping. SIAM International Conference on Data Mining, 2017.\n{UCR}"
    ),
)

THORAX = DataSet(
    name="NonInvasiveFetalECGThorax1",
    parts=_ucr("thorax", "NonInvasiveFetalECGThorax1"),
    n_samples={"train": 1800, "test": 1965},
    n_features=750,
    n_targets=42,
    about=(
        "Electrocardiograms of unborn children from the mother's thorax; the paper's \"Thorax\".\n"
        "No checksum of these files is known to us: their shapes and labels are checked.\n\n"
        "Source: https://www.timeseriesclassification.com/"
        f"description.php?Dataset=NonInvasiveFetalECGThorax1\n{UCR}"
    ),
)

SHAPESALL = DataSet(
    name="ShapesAll",
    parts=_ucr(
        "shapesall",
        "ShapesAll",
        (
            "4dda45787aa8f0fff19f956e7c2070a6999f0e6be627a60f726cebd999e55d6b",
            "c55ab9de74bc5cc1068ea45999a76f551b3d58f64caf66dcc3151882142d337e",
        ),
        (
            "dddaac8b20d492ebf8abdd6f0dc43e5acfa95fc2bcede906e5e8dbf76d2ec486",
            "1a0de98184a51d4827acec26b664c2212ef0893c840ffd05495d372dffa2bfc7",
        ),
        tsv_in="https://raw.githubusercontent.com/iwuqing/Time-Series-Classification-based-on-KNN/"
        "6f961db51e2633ba46524913177c518bd03bb843/data/ShapesAll",
    ),
    n_samples={"train": 600, "test": 600},
    n_features=512,
    n_targets=60,
    about=(
        "Outlines of shapes, as the distance from the centre along the outline.\n\n"
        "Source: https://www.timeseriesclassification.com/description.php?Dataset=ShapesAll\n"
        f"{UCR}"
    ),
)

MNIST = DataSet(
    name="MNIST",
    parts={
        "train images": _mnist(
            "train-images-idx3-ubyte",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        "train labels": _mnist(
            "train-labels-idx1-ubyte",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        "test images": _mnist(
            "t10k-images-idx3-ubyte",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        "test labels": _mnist(
            "t10k-labels-idx1-ubyte",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    },
    n_samples={"train": 60000, "test": 10000},
    bytes_per_value=1,
    n_features=784,
    n_targets=10,
    about=(
        "Handwritten digits, 28 × 28 grey values from 0 to 255, row by row.\n\n"
        "Source: mirrors of http://yann.lecun.com/exdb/mnist\n"
        "Reference: LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document\n"
        "recognition. Proceedings of the IEEE 86(11), 1998.\n"
        f"{LICENCE}"
    ),
)

MEDIAMILL = DataSet(
    name="MediaMill",
    parts={"train": _mediamill("train"), "test": _mediamill("test")},
    n_samples={"train": 30993, "test": 12914},
    n_features=120,
    n_targets=101,
    about=(
        "Key frames of news video: 120 visual features, and which of 101 concepts a frame shows\n"
        "(0 or 1); the challenge's first experiment.\n"
        "No checksum of these files is known to us: their shapes and labels are checked.\n\n"
        "Source: https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html\n"
        f"{SNOEK}{LICENCE}"
    ),
)

MEDIAMILL_SUBSET = DataSet(
    name="MediaMill subset",
    parts={
        "train": _mediamill_subset(
            "train",
            "faeb1975dd7bf7bc178e91cdfa218c6c364f7cbb39fcc49a5811f4370721acbb",
            "f4a562d2b78f5daedeafabc0747542ed2e4d5fd0bb20d348c53d63cc3a0b1e7c",
        ),
        "test": _mediamill_subset(
            "test",
            "3199d53e89096c10b50878f2116f9edbce5abac9a87dec51fe7414d631988399",
            "7594040bfe35e09f674d1c15727d978f310c1106de49ea448764e4627b8b424d",
        ),
    },
    n_samples={"train": 1500, "test": 500},
    n_features=120,
    n_targets=101,
    about=(
        "2000 of the 43907 rows of MediaMill, chosen by others in a way not documented. Results\n"
        "on it are not results on MediaMill.\n\n"
        "Source: https://github.com/YoungHJung/OnlineMLRBoostingWithVFDT, data/mediamill_reduced\n"
        f"{SNOEK}{LICENCE}"
    ),
)

CIFAR100_ARCHIVE = DataFile(
    "cifar100/cifar-100-python.tar.gz",
    (
        Address(
            "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
            "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
        ),
    ),
)
CIFAR100 = DataSet(
    name="CIFAR-100",
    parts={
        "train": (
            CIFAR100_ARCHIVE,
            DataFile(
                "cifar100/cifar100_train.npz",
                (),
                ("07b013b57688266a0be10f24c6ed7978007477c30a1ae1b8ebaee4213333be38",),
            ),
        ),
        "test": (CIFAR100_ARCHIVE,),
    },
    n_samples={"train": 50000, "test": 10000},
    bytes_per_value=1,
    n_features=3072,
    n_targets=100,
    about=(
        "Colour images, 32 × 32 values from 0 to 255: all of red, then green, then blue, each row\n"
        "by row. 100 classes of 500 training and 100 test images.\n"
        "The rows of cifar100_train.npz are in the order of the classes, those of the official\n"
        "archive are not.\n\n"
        "Source: https://www.cs.toronto.edu/~kriz/cifar.html; the .npz was converted from\n"
        "https://github.com/cyizhuo/CIFAR-100-dataset\n"
        "Reference: Krizhevsky: Learning multiple layers of features from tiny images. Technical\n"
        f"report, University of Toronto, 2009.\n{LICENCE}"
    ),
)
