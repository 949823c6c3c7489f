"""Both editions, from the built pages to two files."""

from collections.abc import Callable
from pathlib import Path

from tformer_book.pipeline.editions import contents, epub, pdf
from tformer_book.pipeline.editions.browser import visits

FOLDER = Path("_build", "editions")
NAME = "the-executable-transformer"


def write(
    root: Path, folder: Path | None = None, told: Callable[[str], object] = str
) -> list[Path]:
    """Write both editions of the book around `root`, and return their paths.

    Parameters
    ----------
    root
        The folder of the book. Its pages have been built: `_build/html`.
    folder
        Where the two files go; if none, `_build/editions`.
    told
        Called with the name of each page when it has been read.

    Raises
    ------
    FileNotFoundError
        If a page of `_toc.yml` has not been built, or there is no Chromium.
    """
    book = contents.read(root)
    built = root / "_build" / "html"
    if missing := [page for page in book.pages if not (built / f"{page}.html").is_file()]:
        raise FileNotFoundError(f"not built: {', '.join(missing)}; `make book` builds them")
    folder = folder or root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with visits(built, book) as browser:
        read = {}
        for page in book.pages:
            read[page] = browser.visit(page)
            told(page)
        front = browser.front(read)
    made = {".pdf": pdf.bind(book, front, read), ".epub": epub.pack(book, front, read)}
    paths = []
    for suffix, content in made.items():
        paths.append((folder / NAME).with_suffix(suffix))
        paths[-1].write_bytes(content)
    return paths
