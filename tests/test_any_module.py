"""Any module of PyTorch can be trained: what decays, what goes on, and what is refused at once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from every import every
from test_loop import DECAYS
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
            two = ours(replace(sizes, crossed=True), configuration).tree
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

    with pytest.raises(ValueError, match=r"decay is 0\.1, but of the parameters that learn none"):
        ran(Biased(), Recipe(3, 0.1))
    assert ran(Biased(), Recipe(3, 0.1, decay=0.0))
    frozen = Plain()
    for x in (frozen.table.weight, frozen.head.weight):
        x.requires_grad_(False)
    with pytest.raises(ValueError, match="none decays"):
        ran(frozen, Recipe(3, 0.1))
    with pytest.raises(ValueError, match="no parameter of the module learns"):
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


def test_transposed_and_cut_parameters_are_saved_as_they_are(tmp_path: Path) -> None:
    """Views of one array, transposed: as other libraries' matrices are loaded."""

    def make() -> fast.Module:
        tree = ours().tree
        fused = torch.cat([x.detach() for x in (tree.embedding, tree.positions)]).T.contiguous().T
        return ours(embedding=fused[:N], positions=fused[N:])

    recipe = Recipe(STEPS, 0.05)
    assert not make().tree.embedding.is_contiguous()
    right = ran(make(), recipe)
    assert [x.loss for x in right] == pytest.approx([x.loss for x in ran(ours(), recipe)], rel=1e-9)
    assert ran(make(), recipe, tmp_path, stop=4) == right[:4]
    assert ran(make(), recipe, tmp_path) == right[4:]


def test_a_tensor_in_two_places_is_one_parameter_and_a_view_is_refused(tmp_path: Path) -> None:
    table = ours().tree.embedding.detach().clone()
    parts = [ours(replace(SIZES, crossed=i > 0), embedding=table).tree for i in range(2)]
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
        with pytest.raises(ValueError, match="is a view of numbers that stand in the parameters"):
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


# What is refused before a step


class Broken(Plain):
    """One of its gradients is not finite from the third call on; its loss is."""

    def __init__(self, value: float, calls: int = 1) -> None:
        super().__init__()
        self.value, self.calls, self.bad = value, 0, range(3, 3 + calls)

    def forward(self, tokens: Any) -> Any:
        self.calls += 1
        scores = super().forward(tokens)
        if self.calls in self.bad:
            scores.register_hook(lambda grad: grad * self.value)
        return scores


@every(
    "case",
    [(v, c, p) for v in (np.nan, np.inf) for c in (None, 1.0) for p in ("float32", "bfloat16")],
)
def test_a_gradient_that_is_not_finite_stops_before_the_step(
    case: tuple[float, float | None, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    value, clip, precision = case
    folder, model = tmp_path_factory.mktemp("broken"), Broken(value)
    recipe = Recipe(STEPS, 0.05, clip=clip, precision=precision)
    steps = train(model, batch, recipe, folder, every=1)
    assert [next(steps).step, next(steps).step] == [1, 2]
    before = [x.clone() for x in model.parameters()]
    saved = (folder / "checkpoint.safetensors").read_bytes()
    with pytest.raises(FloatingPointError, match="the length of the gradients of step 3 is nan"):
        next(steps)
    assert all(map(torch.equal, before, model.parameters()))
    assert (folder / "checkpoint.safetensors").read_bytes() == saved
    assert len(ran(Plain(), recipe, folder)) == STEPS - 2  # and it can be gone on with


def test_scaled_losses_leave_a_step_out_and_do_not_do_so_for_ever() -> None:
    model = Broken(np.inf)
    steps = train(model, batch, Recipe(STEPS, 0.05, precision="float16"))
    next(steps)
    next(steps)
    before = [x.clone() for x in model.parameters()]
    assert not np.isfinite(next(steps).norm)
    assert all(map(torch.equal, before, model.parameters()))
    assert np.isfinite(next(steps).norm)
    assert not all(map(torch.equal, before, model.parameters()))
    model = Broken(np.nan, calls=10**6)
    with pytest.raises(FloatingPointError, match="the length of the gradients of step 19 is nan"):
        ran(model, Recipe(100, 0.05, precision="float16"))
    assert all(x.isfinite().all() for x in model.parameters())


def test_gradients_are_those_of_the_loss_and_not_of_the_scaled_one_when_they_are_clipped() -> None:
    """With a large `eps` a step of Adam is as long as the clipped gradient."""
    ends: dict[str, Any] = {}
    for precision in ("float32", "float16"):
        model = Plain()
        start = [x.detach().clone() for x in model.parameters()]
        recipe = Recipe(1, 1.0, schedule="constant", clip=0.01, eps=1e3, decay=0.0)
        recipe = replace(recipe, precision=precision)
        (made,) = ran(model, recipe)
        moves = [x.detach() - y for x, y in zip(model.parameters(), start, strict=True)]
        ends[precision] = made.norm, torch.cat([x.flatten() for x in moves]).norm().item()
    assert ends["float16"] == pytest.approx(ends["float32"], rel=0.01)
    assert ends["float32"][0] > 0.05  # it is clipped
    assert ends["float32"][1] == pytest.approx(0.01 / 1e3, rel=0.01)


def test_parameters_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    """In the row of a word that no text has: the loss and the gradients do not see it."""
    model = Plain()
    steps = train(
        model, lambda step: tuple(x % 6 for x in batch(step)), Recipe(9, 0.05), tmp_path, every=2
    )
    assert [next(steps).step for _ in range(3)] == [1, 2, 3]
    saved = (tmp_path / "checkpoint.safetensors").read_bytes()
    with torch.no_grad():
        model.table.weight[6] = np.inf
    words = r"after step 4 parameters\.table\.weight is not finite; it is not saved"
    with pytest.raises(FloatingPointError, match=words):
        next(steps)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == saved


BATCHES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "no target": (lambda x, y: (x, 0 * y - 1), "the batch of step 1 has no target"),
    "no row": (lambda x, y: (x[:0], y[:0]), "the batch of step 1 has no target"),
    "-100": (lambda x, y: (x, np.where(y > 3, -100, y)), "-1 where there is no target; got -100"),
    "too large": (lambda x, y: (x, y + 1), "targets must be below 7, as the logits; got 7"),
    "rows": (lambda x, y: (x, y[:3]), r"as many rows in each array; got \[4, 3\]"),
    "words": (lambda x, y: (x, y[:, 1:]), r"logits must have the shape \(4, 4, 'N'\); got \(4, 5"),
    "turned": (lambda x, y: (x[:, :4], y[:, :4].T[:, :4, None][..., 0][:, :, None]), "logits must"),
}


@every("name", BATCHES)
def test_a_batch_that_teaches_nothing_or_something_else_says_so(name: str) -> None:
    change, words = BATCHES[name]
    model = Plain()
    before = [x.clone() for x in model.parameters()]
    with pytest.raises(ValueError, match=f"^train: .*{words}"):
        next(train(model, lambda step: change(*batch(step)), Recipe(3, 0.1)))
    assert all(map(torch.equal, before, model.parameters()))


def test_a_checkpoint_of_other_types_or_buffers_is_of_another_model(tmp_path: Path) -> None:
    recipe = Recipe(STEPS, 0.05)
    ran(Plain(nn.BatchNorm1d(8)), recipe, tmp_path, stop=4)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    for other, words in [
        (Plain(nn.BatchNorm1d(8)).double(), "float32 there, float64 here"),
        (Plain(nn.BatchNorm1d(8, affine=False)), r"between.bias is \(8,\) there, absent here"),
        (Plain(nn.LayerNorm(8)), r"buffers.between.num_batches_tracked is \(\) there, absent"),
        (Plain(nn.BatchNorm1d(8, track_running_stats=False)), "buffers.between.num_batches_track"),
    ]:
        with pytest.raises(ValueError, match=f"is of another model: .*{words}"):
            ran(other, recipe, tmp_path)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_models_of_ours_have_no_leaf_that_the_list_of_decays_lacks() -> None:
    names = {name.split(".")[-1] for name, _ in named_leaves(ModelParameters(1, (), None, 1, 1, 1))}
    assert names <= DECAYS.keys()
