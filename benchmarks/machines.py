"""Check the numbers on other processors: make machines [ONLY="haswell nehalem"].

NumPy, SciPy and PyTorch choose their kernels by the processor, and kernels round differently. Four
environment variables choose them by hand, so that one machine shows what several would compute.
For each machine of `MACHINES` the tests of numerics and all notebooks run, unless the kernels that
come out are those of a machine before it: a wheel does not hold every kernel, and a processor
cannot run every kernel. The table is benchmarks/machines.md; a machine that is not chosen
keeps its row there. The exit status is 1 if anything failed.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import machine

from tformer_book.pipeline import find_root

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "machines.json"
BY_HAND = ("OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "NPY_DISABLE_CPU_FEATURES")
NEWEST, NEWER = "AVX512_ICL AVX512_SPR", "X86_V4 AVX512_ICL AVX512_SPR"
MACHINES = {
    "as it is": ("", "", "", ""),
    "haswell": ("Haswell", "avx2", "", NEWER),
    "skylakex": ("SkylakeX", "avx512", "", NEWEST),
    "nehalem": ("Nehalem", "default", "COMPATIBLE", f"X86_V3 {NEWER}"),
    "zen": ("Zen", "avx2", "", NEWER),
    "sapphirerapids": ("Sapphirerapids", "avx512", "", ""),
}
"""The values of `BY_HAND`. MKL lets other makers' processors choose one other kernel only."""
RESULT = ("tests", "notebooks")
HEADS = ("OpenBLAS", "PyTorch", "MKL", "NumPy", "ran on", *RESULT)
LACKS = "not run: the processor lacks these instructions"
PIPELINE = """architecture course curriculum desk edition forge formulas hub import_cells launch
letters limits lint menu page_cells pipeline quiz reading search site strips teach trim widget"""
"""Tests without numerics, `tests/test_NAME*.py`: how pages are made and courses are marked."""
NOTEBOOKS = ("chapters", "exercises/solutions")
KERNELS = """
import json
import numpy as np
import numpy._core._multiarray_umath as numpy_core
import scipy.linalg, threadpoolctl, torch

libraries = threadpoolctl.threadpool_info()
level = [name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[name]]
torch.manual_seed(0)
product = torch.randn(200, 300) @ torch.randn(300, 170)
np.ones((200, 300)) @ np.ones((300, 170))
print(json.dumps({
    "OpenBLAS": " / ".join(sorted({one["architecture"] for one in libraries
                                   if one["internal_api"] == "openblas"})),
    "PyTorch": torch.backends.cpu.get_cpu_capability(),
    "MKL": f"{hash(product.numpy().tobytes()):x}"[-4:],
    "NumPy": level[-1] if level else numpy_core.__cpu_baseline__[-1],
}))
"""
"""Which kernels a process has; those of MKL by the rounding of a product. The last product dies
by a signal where the processor lacks the instructions of OpenBLAS's kernel."""


def main(only: list[str]) -> bool:
    """Run the chosen machines, or all; write the table, and say whether all that ran passed."""
    root, seen = find_root(HERE), dict[str, str]()
    rows = json.loads(RESULTS.read_text("utf-8")) if only and RESULTS.exists() else {}
    for name, values in MACHINES.items():
        surroundings = settings(values)
        probe = run_here(["-c", KERNELS], root, surroundings, capture_output=True)
        if probe.returncode < 0:  # died of an instruction that this processor lacks
            rows.setdefault(name, dict.fromkeys(HEADS, "") | dict.fromkeys(RESULT, LACKS))
            continue
        probe.check_returncode()
        kernels, found = json.loads(probe.stdout), probe.stdout
        if only and name not in only:
            rows.setdefault(name, kernels | dict.fromkeys(RESULT, "not run") | {"ran on": ""})
            continue
        if found in seen:
            rows[name] = kernels | {"ran on": "", "tests": f"as *{seen[found]}*", "notebooks": ""}
            continue
        seen[found] = name
        rows[name] = kernels | {"ran on": machine.describe(())["processor"]}
        for what, arguments in checks(root).items():
            print(f"== {name}: {what}", flush=True)
            start = time.perf_counter()
            failed = run_here(["-m", "pytest", *arguments], root, surroundings).returncode
            seconds = time.perf_counter() - start
            rows[name][what] = f"{'**failed**' if failed else 'passed'}, {seconds:.0f} s"
        write(rows)  # a run that is stopped has lost no machine that was through
    write(rows)
    return not any("failed" in rows[name]["tests"] + rows[name]["notebooks"] for name in rows)


def write(rows: dict[str, dict[str, str]]) -> None:
    """Keep what is known of the machines so far; the table is written once all have a row."""
    RESULTS.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if rows.keys() == MACHINES.keys():
        (HERE / "machines.md").write_text(table(rows), encoding="utf-8")


def settings(values: tuple[str, ...]) -> dict[str, str]:
    """The environment with these values of `BY_HAND`; `hash` says the same in each process."""
    kept = {key: value for key, value in os.environ.items() if key not in BY_HAND}
    chosen = {key: value for key, value in zip(BY_HAND, values, strict=True) if value}
    return kept | chosen | {"PYTHONHASHSEED": "0"}


def checks(root: Path) -> dict[str, list[str]]:
    """The arguments of pytest for the tests of numerics, and for the notebooks."""
    left_out = [f"--ignore-glob=*/test_{name}*.py" for name in ("browser", *PIPELINE.split())]
    two = ["-q", "-n", "2", "--dist"]
    nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "600"]
    sanitise = [
        "--nbval-sanitize-with",
        str(root / "lib/tformer_book/pipeline/notebook/sanitise.cfg"),
    ]
    kernels = ["-p", "tformer_book.pipeline.notebook.kernels"]
    return {
        "tests": ["tests", *two, "worksteal", "--ignore=tests/browser", *left_out],
        "notebooks": [*NOTEBOOKS, *two, "loadscope", *kernels, *nbval, *sanitise],
    }


def run_here(
    arguments: list[str], root: Path, surroundings: dict[str, str], capture_output: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run Python in the book's folder."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command,
        cwd=root,
        env=surroundings,
        text=True,
        capture_output=capture_output,
        check=False,
    )


def table(rows: dict[str, dict[str, str]]) -> str:
    """What ran where, as Markdown."""
    about = machine.describe(("numpy", "scipy", "torch"))
    versions = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    heads = ["machine", "asked for", *HEADS]
    lines = [
        "# The numbers on other processors\n",
        f"Written by `make machines` on {about['cores']} cores, {about['system']}; "
        f"Python {about['python']}, {versions}.",
        "The columns in the middle say which kernels the process had. A wheel and a processor have",
        "only some of them, and rows with the same kernels are run once. MKL does not name its",
        "kernel: four digits stand for how a product is rounded. *Tests* are those of numerics.\n",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for name, values in MACHINES.items():
        set_to = [f"`{k}={v}`" for k, v in zip(BY_HAND, values, strict=True) if v]
        asked = "<br>".join(set_to) or "nothing"
        lines.append(f"| {' | '.join([name, asked, *(rows[name][head] for head in HEADS)])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
