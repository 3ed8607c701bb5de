"""How Sphinx builds the site from these pages: `make docs`, offline, with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "site")]

from pygments.lexers.special import TextLexer  # noqa: E402  # the path comes first
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

# Pages are written for people who read them in the repository too, so links are those of Markdown.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "deflist"]

# What the names of a module say of themselves: docstrings of Google's form, types as they are written.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"undoc-members": True}  # so that `docstrings` is asked about them, and refuses
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
    """Tables that pages show as they are stand in blocks named csv, for which there are no colours."""
    app.add_lexer("csv", TextLexer)
