"""The real model for tests that need it; without it they say so, or fail on the build machine."""

import os
from pathlib import Path

import pytest

import pretrained_files as made
from tformer import pretrained


@pytest.fixture(scope="session")
def checkpoint() -> pretrained.Checkpoint:
    """The real model as its file has it."""
    try:
        pretrained.path()
    except pretrained.PretrainedError as absent:
        pytest.fail(str(absent)) if os.environ.get("CI") else pytest.skip(str(absent))
    return pretrained.checkpoint()


@pytest.fixture
def small_checkpoint(tmp_path: Path) -> pretrained.Checkpoint:
    """A Llama of two layers with weights that are random."""
    metadata, tensors = pretrained.read(made.written(tmp_path, made.gguf()))
    architecture = pretrained.Architecture.of(metadata, tensors)
    tokenizer = pretrained.tokenizer_from_metadata(metadata)
    return pretrained.Checkpoint(architecture, tokenizer, tensors, metadata)
