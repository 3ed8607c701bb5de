"""How Sphinx builds the site from these pages: `make docs`, offline, with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "site")]

from pygments.lexers.special import TextLexer  # noqa: E402  # needs the path set above
from sphinx.application import Sphinx  # noqa: E402

from nlgauge._version import __version__  # noqa: E402

project = "nlgauge"
copyright = "the nlgauge authors"  # noqa: A001  # Sphinx calls it so
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "docstrings",
    "mathml",
    "repository_links",
    "source_tree",
]
exclude_patterns = ["site", "_build"]

# Pages are also read in the repository, so links use Markdown.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "deflist"]

# API reference: docstrings in Google style, types as written.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"undoc-members": True}  # `docstrings` then rejects members without a docstring
autodoc_mock_imports = ["pandas"]  # nlgauge.apps.compat.pandas imports it; the site is built without extras
autosummary_generate = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"nlgauge {release}"
html_static_path = ["site/static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Register a lexer without colours for blocks named csv."""
    app.add_lexer("csv", TextLexer)
