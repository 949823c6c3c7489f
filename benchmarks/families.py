"""Compare our families with the transformers that is installed: make released [ONLY="llama lfm3"].

Once a week this runs with the newest transformers, in an environment of its own. Each family's
small model is made anew, as `tests/released/make.py` made its fixture, and compared with the
fixture and with our reading of it. What differs is news, and blocks nothing: the fixtures name
their version. The exit status is 1 if a family differs, cannot be made or is not read.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "lib")]

from released_models import NAMES, VERSION, arrays_of, fixture  # noqa: E402
from tformer.models import layers_from_state_dict  # noqa: E402
from tformer.models.layered import layered_decoder  # noqa: E402

BOUND = 1e-12  # of the largest logit, in float64, as in tests/test_released.py
CHANGES_ALWAYS = {"transformers_version"}


def main(names: list[str]) -> int:
    """Print a table of Markdown with a line for each family; return how many differ."""
    import transformers

    print(f"transformers {transformers.__version__}; the fixtures are of {VERSION}\n")
    print("| family | what differs |\n|---|---|", flush=True)
    n_differ = 0
    for name in names or NAMES:
        said = compared(name)
        n_differ += bool(said)
        print(f"| {name} | {'; '.join(said).replace('|', '/') or 'nothing'} |", flush=True)
    print(f"\n{len(names or NAMES)} families, {n_differ} differ")
    return n_differ


def compared(name: str) -> list[str]:
    """All that is to be said of a family."""
    from released import make

    def counted(model: Any, n_tokens: int) -> Any:
        try:
            return count(model, n_tokens)
        except Exception as error:  # so that another form of the cache does not hide the logits
            return in_a_line(error)

    count, make.cached_numbers = make.cached_numbers, counted
    try:
        found = make.made(name)
    except Exception as error:  # of whatever kind: it is the news
        return [f"cannot be made: {in_a_line(error)}"]
    finally:
        make.cached_numbers = count
    return differences(fixture(name), found) + reading(found)


def in_a_line(error: Exception) -> str:
    """The kind of an error and the first line of its message."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def differences(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What a family that was made anew has otherwise than its fixture, in words."""
    said = _entries("config", stored["config"], found["config"])
    said += _entries("arrays", stored["arrays"], found["arrays"])
    said += [
        f"{key}: {stored[key]} was, {found[key]} is"
        for key in ("n_parameters", "cached_numbers")
        if stored[key] != found[key]
    ]
    if stored["arrays"] == found["arrays"]:  # otherwise the numbers drawn are not the same
        said += _moved("logits", stored["logits"], found["logits"])
    return said


def reading(found: dict[str, Any]) -> list[str]:
    """What our reading gives otherwise than the published class, or why it refuses."""
    try:
        parameters, configuration = layers_from_state_dict(found["config"], arrays_of(found))
    except Exception as error:
        return [f"not read: {error}"]
    logits = layered_decoder(np.array(found["tokens"]), parameters, configuration)
    return _moved("our logits", found["logits"], logits)


def _entries(name: str, stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    new = sorted(found.keys() - stored.keys() - CHANGES_ALWAYS)
    gone = sorted(stored.keys() - found.keys() - CHANGES_ALWAYS)
    both = sorted(found.keys() & stored.keys() - CHANGES_ALWAYS)
    said = [f"{name}: new: {', '.join(new)}"] if new else []
    said += [f"{name}: gone: {', '.join(gone)}"] if gone else []
    return said + [
        f"{name}: {key}: {stored[key]} was, {found[key]} is"
        for key in both
        if stored[key] != found[key]
    ]


def _moved(name: str, stored: Any, found: Any) -> list[str]:
    stored, found = np.asarray(stored), np.asarray(found)
    if stored.shape != found.shape:
        return [f"{name}: shape {stored.shape} was, {found.shape} is"]
    moved = np.abs(found - stored).max() / np.abs(stored).max()
    return [] if moved <= BOUND else [f"{name}: moved by {moved:.1e} of the largest"]


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
