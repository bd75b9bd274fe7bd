"""How Sphinx makes the site: ``sphinx-build -W --keep-going -b html docs docs/_build/html``.

Nothing is fetched: the site is built, and read, without a network.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = str(ROOT / "src")  # for what examples start

from sphinx.pycode import ModuleAnalyzer  # noqa: E402

import projse  # noqa: E402

project = "projse"
author = "the projse developers"
copyright = author
version = release = projse.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# Links to the pages of other projects need their inventories. PROJSE_INVENTORIES is "fetch" where
# the site is built to be published, or a folder of numpy.inv, scipy.inv, … fetched before.
# Without it such names are plain text, and nothing is asked of a network.
INVENTORIES = os.environ.get("PROJSE_INVENTORIES")
if INVENTORIES:
    extensions.append("sphinx.ext.intersphinx")
    numpydoc_xref_param_type = True
    suppress_warnings = ["ref.ref", "ref.term"]  # of words that numpydoc expects and others dropped
    intersphinx_mapping = {
        name: (address, None if INVENTORIES == "fetch" else f"{INVENTORIES}/{name}.inv")
        for name, address in {
            "python": "https://docs.python.org/3",
            "numpy": "https://numpy.org/doc/stable",
            "scipy": "https://docs.scipy.org/doc/scipy",
            "sklearn": "https://scikit-learn.org/stable",
            "pandas": "https://pandas.pydata.org/docs",
            "matplotlib": "https://matplotlib.org/stable",
        }.items()
    }
exclude_patterns = ["_build", "recipes/*.ipynb", "recipes/*.py"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "projse"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "projse"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
WITHOUT_PAGES_BELOW = ("index", "start", "comparison", "results", "experiments", "development")
html_sidebars = {page: [] for page in (*WITHOUT_PAGES_BELOW, "changelog")}
toc_object_entries_show_parents = "hide"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["recipes"],
    "filename_pattern": r"/[a-z]",  # all of them are run
    "backreferences_dir": "recipes/names",
    "doc_module": ("projse",),
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": ("_repr_html_",),
    "within_subsection_order": "ExampleTitleSortKey",
    "min_reported_time": 10**6,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "matplotlib_animations": False,
}
warnings.filterwarnings("ignore", message=".*Agg, which is a non-GUI backend.*")

# Files of the repository that are pages of the site: the page itself says no more than a heading.
PAGES = {
    "benchmarks-all": "benchmarks/results/benchmarks.md",
    "benchmarks-how": "benchmarks/README.md",
    "benchmarks-knockoffs": "benchmarks/knockoffs/README.md",
    "benchmarks-quality": "benchmarks/quality/README.md",
    "changelog": "CHANGELOG.md",
    "development": "CONTRIBUTING.md",
    "experiments": "experiments/README.md",
}
SITE = {ROOT / file: f"{page}.md" for page, file in PAGES.items()} | {
    ROOT / "README.md": "index.md"
}


def link_within_the_site(app, name, source):
    """Lead links between files of the repository to pages, or to the file to download."""
    file = ROOT / PAGES.get(name, f"docs/{name}.md")
    if not file.exists():
        return

    def lead(match):
        target, sharp, anchor = match[1].partition("#")
        if not target or ":" in target:
            return match[0]
        path = Path(os.path.normpath(file.parent / target))
        if path in SITE:
            return f"]({SITE[path]})"
        if path.is_relative_to(DOCS):
            return f"]({path.relative_to(DOCS)}{sharp}{anchor})"
        if path.suffix in ("", ".md", ".py") or not path.exists():
            return "]"  # a folder or a source: its name is all that a reader of the site needs
        return f"]({os.path.relpath(path, DOCS)})"

    source[0] = re.sub(r"\]\(([^)\s]+)\)", lead, file.read_text(encoding="utf-8"))


def names_in_recipes():
    """Return the public names that an example imports, to show it on their pages."""
    found = set()
    for path in (ROOT / "examples").glob("*.py"):
        for module, names in re.findall(r"^from (projse\S*) import (.+)$", path.read_text(), re.M):
            found |= {f"{module}.{name.strip()}" for name in names.split(",")}
    return found


autosummary_context = {"gallery_names": names_in_recipes()}


def skip_what_others_document(app, what, name, member, skip, options):
    """Leave out what estimators inherit from scikit-learn and Spark."""
    function = getattr(member, "__func__", getattr(member, "fget", member))
    module = getattr(function, "__module__", None) or "projse"
    return True if not module.startswith("projse") else None


def escape_shapes(app, what, name, thing, options, lines):
    """Keep the names of sizes in shapes from being read as links: they end in an underscore."""
    lines[:] = [re.sub(r"(?<!`)\b(n_\w+)_(?=[,)])", r"\1\\_", line) for line in lines]


def document_constants(app, what, name, thing, options, lines):
    """Take the text of a constant from where it is defined: a constant cannot carry it along."""
    if name == "projse.PAPER":
        defined = ModuleAnalyzer.for_module("projse.estimators.paper").find_attr_docs()
        lines[:] = defined["", "PAPER"]


def setup(app):
    app.connect("autodoc-process-docstring", document_constants, priority=300)
    app.connect("source-read", link_within_the_site)
    app.connect("autodoc-skip-member", skip_what_others_document)
    app.connect("autodoc-process-docstring", escape_shapes, priority=400)  # before numpydoc
