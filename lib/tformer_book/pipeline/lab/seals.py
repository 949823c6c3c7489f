"""In the edition for JupyterLab `verify` shows the seal that its box bears on the page."""

from functools import cache
from pathlib import Path

from IPython import get_ipython

from tformer_book.claims import Evidence, find
from tformer_book.claims.record import records
from tformer_book.pipeline import find_root
from tformer_book.pipeline.site.seals import seal

# The colours of the page, in JupyterLab's own.
COLOURS = {
    "book-sans": "jp-ui-font-family",
    "book-ink": "jp-content-font-color1",
    "book-quiet": "jp-content-font-color2",
    "book-line": "jp-border-color1",
    "book-paper": "jp-layout-color0",
    "book-warning": "jp-error-color0",
}
# Of its program: what the classes of Pygments begin with, and JupyterLab's names for it.
TOKENS = {"k": "keyword", "ow": "keyword", "s": "string", "c": "comment", "m": "number"}


def show_seals() -> None:
    """Let this notebook show a seal where it would print the evidence."""
    formatter = get_ipython().display_formatter.formatters["text/html"]
    formatter.for_type(Evidence, lambda evidence: seal_html(evidence.label))


def seal_html(label: str) -> str | None:
    """The seal of a claim with its style, for an output; None if nothing is recorded of it."""
    record = records().get(label)
    return f"<style>{_style()}</style>{seal(find(label), record)}" if record else None


@cache
def _style() -> str:
    colours = " ".join(f"--{ours}: var(--{theirs});" for ours, theirs in COLOURS.items())
    style = (find_root(Path(__file__).parent) / "assets" / "seal.css").read_text(encoding="utf-8")
    code = "\n".join(
        f".tf-program [class^={start}] {{ color: var(--jp-mirror-editor-{token}-color); }}"
        for start, token in TOKENS.items()
    )
    return f".tf-seal {{ padding-left: 0.25rem; {colours} }}\n{style}\n{code}"
