"""Sphinx extension: links to edit a page and to report a mistake in it, at the foot of each page.

They are shown if `_config.yml` names a repository on GitHub, and are plain links: nothing is asked
of another host until a reader follows one.
"""

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, urlencode

from sphinx.application import Sphinx

HOST = "https://github.com/"
STOCK = f"{HOST}executablebooks/jupyter-book"
"""What Jupyter Book takes for the repository of a book that names none."""
BRANCH = "main"
"""What is published is what this branch holds; `repository: branch` is what launch buttons open."""
FORM = "sentence.yml"
"""The form for a mistake, in `.github/ISSUE_TEMPLATE`; its field `page` is filled in."""
GENERATED = {"chapters/ledger"}


def repository(app: Sphinx) -> str:
    """The address of the book's repository on GitHub, without a slash at its end, or nothing."""
    url = str(app.config.html_theme_options.get("repository_url") or "").rstrip("/")
    return url if url.startswith(HOST) and url != STOCK else ""


def edit_link(url: str, page: str, suffix: str) -> str | None:
    """The address that edits the source of a page; None if a program writes it.

    Parameters
    ----------
    url : the address of the repository, without a slash at its end.
    page : the name of the page, such as `chapters/04_why_sqrt_d`.
    suffix : of its source, such as `.ipynb`; empty if it has none.
    """
    if not suffix or page in GENERATED:
        return None
    if PurePosixPath(page).parent.name == "solutions":
        suffix = ".py"  # its notebook is written from it
    return f"{url}/edit/{BRANCH}/{quote(page + suffix)}"


def report_link(url: str, page: str) -> str:
    """The address of the form for a mistake, with the name of the page filled in."""
    return f"{url}/issues/new?{urlencode({'template': FORM, 'page': page})}"


def page_links(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Hand the links, a pair of address and words each, to the foot of the page."""
    context["page_links"] = []
    if url := repository(app):
        edit = edit_link(url, pagename, context.get("page_source_suffix") or "")
        context["page_links"] += [(edit, "Edit this page")] if edit else []
        context["page_links"].append((report_link(url, pagename), "Report a mistake"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the links of each page."""
    app.connect("html-page-context", page_links)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
