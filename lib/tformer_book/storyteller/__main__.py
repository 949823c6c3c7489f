"""Train the storyteller again: python -m tformer_book.storyteller FOLDER."""

import argparse
import sys
from pathlib import Path

from tformer_book.storyteller.training import trained

if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path, help="where checkpoints and weights go")
    for row in trained(asked.parse_args().folder, bar=False):
        sys.stdout.write("  ".join(f"{name} {x:.3g}" for name, x in row.items()) + "\n")
        sys.stdout.flush()
