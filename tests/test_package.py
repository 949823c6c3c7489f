"""What is installed from this repository: the library alone, and the book's packages beside it."""

import importlib
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
CORE = ("numpy", "numpy.libs", "scipy", "scipy.libs", "safetensors")
EXAMPLE = """
import sys
from pathlib import Path

import numpy as np

import tformer.reference as ref
from tformer.configuration import Configuration
from tformer.models import Sizes, generate, initialise, load, save

rng = np.random.default_rng(0)
q, k, v = rng.normal(size=(3, 5, 4))
print(ref.attention(q, k, v, mask=ref.causal_mask(5, 5)).shape)

configuration = Configuration(positions="rope", norm="rms")
model = initialise(Sizes(13, 16, 2, 4, 32), configuration, rng)
save(Path(sys.argv[1]), model, configuration)
parameters, configuration = load(Path(sys.argv[1]))
written = generate(
    ref.cached_decoder, np.array([1, 2]), parameters, configuration, 3, np.argmax
)
print(len(list(written)))
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "sympy", "matplotlib"}))
"""


@pytest.mark.parametrize("place", ["lib", "."])
def test_every_file_beside_the_code_is_installed(place: str) -> None:
    settings = tomllib.loads((ROOT / place / "pyproject.toml").read_text(encoding="utf-8"))
    (patterns,) = settings["tool"]["setuptools"]["package-data"].values()
    packages = ["tformer"] if place == "." else ["tformer_book", "tformer_course"]
    for library in (ROOT / "lib" / name for name in packages):
        files = {path for path in library.rglob("*") if path.is_file() and path.suffix != ".py"}
        files = {path for path in files if path.suffix != ".pyc"}
        installed = {path for pattern in patterns for path in library.glob(pattern)}
        assert sorted(files - installed) == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as a wheel, built from a copy of what it is made of."""
    folder, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "lib" / "tformer", source / "lib" / "tformer", ignore=leave_out)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder, source], check=True, cwd=folder)
    (made,) = folder.glob("tformer-*.whl")
    return made


def test_models_export_what_a_user_needs_and_load_no_torch() -> None:
    """By a process of its own: this one has loaded PyTorch."""
    code = "import sys, tformer.models as m; print('torch' in sys.modules, *m.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    torch, *names = done.stdout.split()
    assert torch == "False"
    assert {"Sizes", "initialise", "generate", "save", "load", "beam_search"} <= {*names}
    assert {"from_pretrained", "from_state_dict", "to_state_dict", "run_with_hooks"} <= {*names}
    models = importlib.import_module("tformer.models")
    assert [name for name in names if isinstance(getattr(models, name), ModuleType)] == []


def test_the_wheel_is_small_and_holds_the_library_alone(wheel: Path) -> None:
    assert wheel.stat().st_size < 1e6
    names = ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"tformer"}
    assert {"tformer/py.typed", "tformer/reference/attention.py"} <= set(names)


def test_the_wheel_attends_saves_and_writes_where_nothing_else_is(
    wheel: Path, tmp_path: Path
) -> None:
    """The environment holds NumPy, SciPy, safetensors and the wheel: no PyTorch, no book."""
    venv.create(tmp_path / "fresh", symlinks=True)
    (site,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    theirs = Path(str(find_spec("numpy").origin)).parents[1]
    for name in CORE:
        if (theirs / name).exists():
            (site / name).symlink_to(theirs / name)
    with ZipFile(wheel) as archive:
        archive.extractall(site)
    (tmp_path / "example.py").write_text(EXAMPLE, encoding="utf-8")
    python = tmp_path / "fresh" / "bin" / "python"
    done = subprocess.run(
        [python, "-I", "example.py", "model.safetensors"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(5, 4)", "3", ""]
