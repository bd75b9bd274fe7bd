"""Public data sets, found or downloaded and checked, and the paper's synthetic data.

Comes in: the name of a data set. Goes out: arrays or data frames, of the shape they must have.
Must not know: any of the other rooms.

Files are looked for in the data home, which the environment variable ``PROJSE_DATA`` names. What
is missing is downloaded there once (extra: ``datasets``).
"""

from projse.datasets.gene_expression import load_carcinom, load_eleven_tumors, load_glioma
from projse.datasets.home import get_data_home
from projse.datasets.images import load_cifar100, load_mnist, load_mnist_halves
from projse.datasets.mediamill import load_mediamill, load_mediamill_subset
from projse.datasets.synthetic import iter_two_view, make_two_view
from projse.datasets.time_series import load_crop, load_shapesall, load_thorax

__all__ = [
    "get_data_home",
    "iter_two_view",
    "load_carcinom",
    "load_cifar100",
    "load_crop",
    "load_eleven_tumors",
    "load_glioma",
    "load_mediamill",
    "load_mediamill_subset",
    "load_mnist",
    "load_mnist_halves",
    "load_shapesall",
    "load_thorax",
    "make_two_view",
]
