"""Sphinx configuration. `make docs` copies it with the pages into .docs/source and builds there."""

project = "ackdoctor"
author = "The ackdoctor authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "ackdoctor"
myst_heading_anchors = 3
