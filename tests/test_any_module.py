"""Any module of PyTorch can be trained: what decays, and what goes on when it was killed."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from every import every
from test_loop import DECAYS, in_two_processes
from tformer import fast
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, ModelParameters, named_leaves, tree_map
from tformer.training import Recipe, train

N, STEPS = 7, 6
GPT = Configuration(activation="gelu_tanh")
SIZES = Sizes(N, 8, 2, 2, 12, n_positions=6)


class Plain(nn.Module):
    """An embedding, something between, a head; `tied` makes one parameter of both."""

    def __init__(self, between: nn.Module | None = None, tied: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(N, 8)
        self.between = nn.Identity() if between is None else between
        self.head = nn.Linear(8, N)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, tokens: Any) -> Any:
        rows = self.table(tokens)
        return self.head(self.between(rows.flatten(0, 1)).view_as(rows))


def ours(sizes: Sizes = SIZES, configuration: Configuration = GPT, **changes: Any) -> fast.Module:
    """A decoder of which no parameter is 0: not its biases either."""
    rng = np.random.default_rng(0)
    drawn = initialise(sizes, configuration, rng, 0.2)
    moved = tree_map(lambda x: torch.from_numpy(x + 0.1 * rng.standard_normal(x.shape)), drawn)
    return fast.Module(fast.decoder, replace(moved, **changes), configuration=configuration)


def compiled(module: nn.Module) -> Any:
    return torch.compile(module, backend="eager")


def seen(model: Plain) -> Plain:
    """The same with a buffer that looks at its table."""
    model.register_buffer("seen", model.table.weight.detach())
    return model


def inside(model: Plain) -> Plain:
    """The same with its table compiled."""
    model.table = compiled(model.table)
    return model


def batch(step: int) -> tuple[np.ndarray, ...]:
    tokens = np.random.default_rng([5, step]).integers(0, N, (4, 6))
    return tokens[:, :-1], tokens[:, 1:].copy()


def ran(module: nn.Module, recipe: Recipe, folder: Path | None = None, stop: int = 0) -> list[Any]:
    """What is known of each step, a checkpoint every second; a stop is a kill after that step."""
    found = []
    for made in train(module, batch, recipe, folder, every=2):
        found.append(made._replace(seconds=0.0))
        if made.step == stop:
            break
    return found


# What decays


def moved_by_decay(make: Callable[[], nn.Module]) -> dict[str, float]:
    """Of each parameter by how much of itself it is smaller after a step with a decay of 3."""
    plain, decayed = make(), make()
    start = {name: x.detach().clone() for name, x in plain.named_parameters()}
    for module, decay in ((plain, 0.0), (decayed, 3.0)):
        [*train(module, batch, Recipe(1, 0.01, schedule="constant", decay=decay))]
    ends = (dict(module.named_parameters()) for module in (plain, decayed))
    one, other = ends
    found = {}
    for name, x in start.items():
        assert x.abs().max() > 0, name  # a 0 would hide a decay
        share = (one[name] - other[name]).detach() / x
        assert share.max() - share.min() < 1e-3, name
        found[name] = share.mean().item()
    return found


@every("kind", ["learned", "relative", "rope", "inside another module", "two models"])
def test_of_our_own_matrices_and_tables_of_words_decay(kind: str) -> None:
    """By a list that the tests write down: half of the tensors with two axes are no matrices."""
    configuration = Configuration(
        activation="gelu_tanh", positions=kind if kind in ("relative", "rope") else "learned"
    )
    sizes = replace(SIZES, n_positions=7, gated=kind == "rope", tied=kind != "rope")

    def make() -> nn.Module:
        one = ours(sizes, configuration)
        if kind == "two models":
            two = ours(replace(sizes, has_cross_attention=True), configuration).tree
            pair = EncoderDecoderParameters(one.tree, two)
            both = fast.Module(fast.encoder_decoder, pair, configuration=configuration)
            return nn.Sequential(_Twice(both))
        return nn.Sequential(one) if kind == "inside another module" else one

    for name, share in moved_by_decay(make).items():
        expected = 0.03 if DECAYS[name.split(".")[-1]] else 0.0
        assert share == pytest.approx(expected, abs=1e-6), name


class _Twice(nn.Module):
    """An encoder-decoder that reads what it writes."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: Any) -> Any:
        return self.inner(tokens, tokens)


def test_of_a_plain_module_matrices_decay_whatever_they_are_called() -> None:
    def make() -> nn.Module:
        model = Plain(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.BatchNorm1d(8)))
        torch.manual_seed(1)
        for x in model.parameters():
            nn.init.normal_(x)
        return model.double()

    found = moved_by_decay(make)
    assert {name for name, share in found.items() if share > 0.02} == {
        *("table.weight", "head.weight", "between.0.weight"),
    }
    assert {round(share, 5) for share in found.values()} == {0.0, 0.03}


def test_a_decay_of_nothing_is_refused() -> None:
    class Biased(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = nn.Parameter(torch.zeros(N))

        def forward(self, tokens: Any) -> Any:
            return self.scores.expand(*tokens.shape, N)

    with pytest.raises(ValueError, match=r"decay is 0\.1, but no parameter that requires"):
        ran(Biased(), Recipe(3, 0.1))
    assert ran(Biased(), Recipe(3, 0.1, decay=0.0))
    frozen = Plain()
    for x in (frozen.table.weight, frozen.head.weight):
        x.requires_grad_(False)
    with pytest.raises(ValueError, match="none decays"):
        ran(frozen, Recipe(3, 0.1))
    with pytest.raises(ValueError, match="no parameter of the module requires a gradient"):
        ran(nn.Identity(), Recipe(3, 0.1))


# What goes on


MODULES: dict[str, Callable[[], nn.Module]] = {
    "dropout": lambda: Plain(nn.Dropout(0.3)),
    "batch norm": lambda: Plain(nn.BatchNorm1d(8)),
    "both, tied": lambda: Plain(nn.Sequential(nn.Dropout(0.2), nn.BatchNorm1d(8)), tied=True),
    "a view as a buffer": lambda: seen(Plain(nn.Dropout(0.3))),
    "compiled": lambda: compiled(Plain(nn.BatchNorm1d(8))),
    "compiled inside": lambda: inside(Plain(nn.Dropout(0.3))),
    "frozen": lambda: Plain(nn.Linear(8, 8).requires_grad_(requires_grad=False)),
}


@every("name", MODULES)
def test_a_module_goes_on_where_it_was_killed_to_the_last_bit(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    recipe = Recipe(STEPS, 0.05, accumulate=2)

    def make() -> nn.Module:
        torch.manual_seed(0)
        return MODULES[name]()

    whole, left = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("left")
    right = ran(make(), recipe, whole)
    ran(make(), recipe, left, stop=5)
    torch.manual_seed(99)  # a new process begins elsewhere
    last = make()
    torch.manual_seed(98)
    assert ran(last, recipe, left) == right[4:]
    ends = [load_file(one / "checkpoint.safetensors") for one in (whole, left)]
    assert ends[0].keys() == ends[1].keys()
    assert all(torch.equal(x, ends[1][key]) for key, x in ends[0].items())
    assert not any("_orig_mod" in key for key in ends[0])
    again = make()  # it stands where the checkpoint stands
    assert ran(again, recipe, left) == []
    for key, x in last.state_dict().items():
        assert torch.equal(x, again.state_dict()[key]), key


def cut() -> fast.Module:
    """Two parameters are views of one array, transposed: as other libraries' matrices are."""
    tree = ours().tree
    fused = torch.cat([x.detach() for x in (tree.embedding, tree.positions)]).T.contiguous().T
    return ours(embedding=fused[:N], positions=fused[N:])


def test_transposed_and_cut_parameters_are_saved_as_they_are(tmp_path: Path) -> None:
    recipe = Recipe(STEPS, 0.05)
    assert not cut().tree.embedding.is_contiguous()
    right = ran(cut(), recipe)
    assert [x.loss for x in right] == pytest.approx([x.loss for x in ran(ours(), recipe)], rel=1e-9)
    assert ran(cut(), recipe, tmp_path, stop=4) == right[:4]
    assert ran(cut(), recipe, tmp_path) == right[4:]


def test_two_processes_go_on_each_with_its_own_generator(tmp_path: Path) -> None:
    """A plain module; and parameters that were transposed, in shares."""
    recipe = Recipe(STEPS, 0.05)

    def one(model: dict[str, Any], stop: int | None = None, **options: Any) -> dict[str, Any]:
        return {"recipe": asdict(recipe), "model": model, "stop": stop, "options": options}

    folder = {"folder": str(tmp_path), "every": 2}
    whole, begun, rest, shares = in_two_processes(
        one({"seed": 1}),
        one({"seed": 1}, 5, **folder),
        one({"seed": 77}, **folder),
        one({"cut": True}, sharded=True),
    )
    assert begun["losses"] + rest["losses"][1:] == whole["losses"]
    assert rest["losses"][0] == whole["losses"][4]
    right = [made.loss for made in ran(cut(), recipe)]
    assert shares["losses"] == pytest.approx(right, rel=1e-9)


def test_a_tensor_in_two_places_is_one_parameter_and_a_view_is_refused(tmp_path: Path) -> None:
    table = ours().tree.embedding.detach().clone()
    parts = [
        ours(replace(SIZES, has_cross_attention=i > 0), embedding=table).tree for i in range(2)
    ]
    both = EncoderDecoderParameters(*tree_map(lambda x: x.detach(), tuple(parts)))
    both = replace(both, **{k: replace(getattr(both, k), embedding=table) for k in vars(both)})
    module = fast.Module(fast.encoder_decoder, both, configuration=GPT)
    assert module.tree.encoder.embedding is module.tree.decoder.embedding
    assert len([*module.parameters()]) == len([*named_leaves(both)]) - 1
    before = table.clone()
    ran(_Twice(module), Recipe(1, 0.05, schedule="constant", decay=0.0), tmp_path)
    assert (table - before).abs().max() == pytest.approx(0.05, rel=1e-3)  # Adam's first, and once
    for changes in (
        {"unembedding": table.T},
        {"positions": table[1:]},
        {"positions": torch.ones(8, dtype=table.dtype).expand(6, 8)},
    ):
        with pytest.raises(ValueError, match="shares memory with other parameters"):
            ran(ours(embedding=table, **changes), Recipe(STEPS, 0.05))


def test_a_state_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    class Counted(Plain):
        def get_extra_state(self) -> object:
            return {"calls": 3}

        def set_extra_state(self, state: object) -> None:
            pass

    assert len(ran(Counted(), Recipe(3, 0.1))) == 3
    with pytest.raises(ValueError, match="_extra_state of the module is a dict; a checkpoint hol"):
        ran(Counted(), Recipe(3, 0.1), tmp_path)


def test_what_is_compiled_is_a_module_of_ours_that_one_may_go_on_with(tmp_path: Path) -> None:
    """Masks are drawn for it, and what is no matrix does not decay."""
    dropped, recipe = replace(GPT, dropout=0.4), Recipe(STEPS, 0.05, decay=3.0)
    sizes = replace(SIZES, n_layers=1)
    right = ran(ours(sizes, dropped), recipe)
    assert ran(compiled(ours(sizes, dropped)), recipe, tmp_path, stop=3) == right[:3]
    assert ran(ours(sizes, dropped), recipe, tmp_path) == right[2:]
    with pytest.raises(ValueError, match=r"recompute needs a fast\.Module; got one that is compi"):
        ran(compiled(ours()), replace(recipe, recompute=True))


def test_models_of_ours_have_no_leaf_that_the_list_of_decays_lacks() -> None:
    names = {name.split(".")[-1] for name, _ in named_leaves(ModelParameters(1, (), None, 1, 1, 1))}
    assert names <= DECAYS.keys()
