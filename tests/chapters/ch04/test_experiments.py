"""The measurements of the chapter: scores are what they say, training repeats."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from tformer import reference
from tformer_book.chapters.ch04 import figures_deeper, recall, row, scores
from tformer_book.experiments import intervals
from tformer_book.experiments.gaussian_rows import two_keys_norm
from tformer_book.figures.style import svg

WIDTHS = (4, 16, 64)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# Scores


@pytest.mark.parametrize("n", [2, 3, 17])
@pytest.mark.parametrize("sigma", [0.0, 1.0, 30.0])
def test_norm_of_the_jacobian_without_the_matrix(rng, n, sigma):
    p = reference.softmax(sigma * rng.standard_normal((200, n)))
    want = np.linalg.norm(reference.softmax_jacobian(p), 2, axis=(-2, -1))
    assert np.allclose(scores.jacobian_norm(p), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_norms_of_two_keys_agree_with_quadrature(sigma):
    found = scores.normal_jacobians(2, sigma, 20_000)
    assert np.array_equal(found, scores.normal_jacobians(2, sigma, 20_000))
    assert abs(found.mean() - two_keys_norm(sigma)) <= intervals.bernstein_margin(found)


def test_raw_scores_have_variance_d(rng):
    found = scores.raw_scores(rng, d=16, n_keys=64, n_rows=2000)
    assert found.shape == (2000, 64)
    mean, half = intervals.mean_interval((found**2).mean(axis=-1), 1 - 1e-6)
    assert abs(mean - 16) <= half


def test_three_scales_measure_the_same_rows():
    rows = scores.by_width(np.random.default_rng(3), WIDTHS, n_keys=8, n_rows=50)
    again = scores.raw_scores(np.random.default_rng(3), WIDTHS[0], 8, 50)
    assert list(rows) == ["1", "1/√d", "1/d"]
    for name, scale in (("1", 1.0), ("1/√d", 0.5), ("1/d", 0.25)):
        p = reference.softmax(scale * again)
        assert np.array_equal(rows[name][0].entropy, reference.entropy(p))
        assert np.allclose(rows[name][0].effective_keys, 1 / (p * p).sum(axis=-1))


def test_measured_entropy_agrees_with_quadrature():
    rows = scores.by_width(np.random.default_rng(0), WIDTHS, n_keys=16, n_rows=400)
    exact = figures_deeper.exact_by_width(16, np.array(WIDTHS))
    for name, found in rows.items():
        for measured, (entropy, coincidence) in zip(found, exact[name], strict=True):
            mean, half = intervals.mean_interval(measured.entropy, 1 - 1e-6)
            assert abs(mean - entropy) <= half
            mean, half = intervals.mean_interval(1 / measured.effective_keys, 1 - 1e-6)
            assert abs(mean - coincidence) <= half


def test_gradient_at_the_query_is_that_of_attention():
    found = scores.gradient_at_query(np.random.default_rng(3), WIDTHS, n_keys=8, n_rows=5)
    rng = np.random.default_rng(3)
    for i, d in enumerate(WIDTHS):
        for n in range(5):
            q, k = (rng.standard_normal((m, d), dtype=np.float32).astype(float) for m in (1, 8))
            v = rng.standard_normal((8, 1))  # the loss is the output: its slope at a weight is v
            for name, scale in scores.SCALES.items():
                dq = reference.attention_vjp(q, k, v, np.ones((1, 1)), scale=scale(d))[0]
                assert found[name][i, n] == pytest.approx(np.linalg.norm(dq), rel=1e-5)


def test_gradient_at_the_query_without_and_with_a_scale():
    found = scores.gradient_at_query(np.random.default_rng(0), (16, 256), n_rows=400)
    alone, root, flat = found.values()
    assert alone.mean(axis=-1) == pytest.approx([0.97, 1.62], rel=0.25)
    assert np.median(alone[1]) < 0.3
    assert root.mean(axis=-1) == pytest.approx([0.176, 0.178], rel=0.05)
    assert flat.mean(axis=-1) == pytest.approx([0.0313, 0.0077], rel=0.05)


def test_answers_to_a_wish_are_those_of_the_jacobian():
    for name, found in scores.answers(16, n_keys=5, n_rows=7).items():
        jacobians = reference.softmax_jacobian(found.weights)
        arriving = np.linalg.norm((found.wishes[:, None] @ jacobians)[:, 0], axis=-1)
        assert np.allclose(found.random, arriving, rtol=1e-12), name
        assert np.allclose(found.worst, np.linalg.norm(jacobians, 2, axis=(-2, -1)), atol=1e-6)
        assert np.array_equal(found.largest, found.weights.max(axis=-1))
    plain, scaled, _ = scores.answers(16, n_keys=5, n_rows=7).values()
    raw = np.log(plain.weights) - np.log(plain.weights[:, :1])
    assert np.allclose(reference.softmax(raw / 4), scaled.weights)


def test_answers_are_those_of_rows_drawn_with_their_keys(rng):
    found = scores.answers(16, n_keys=8, n_rows=2000)["1"]
    p = reference.softmax(scores.raw_scores(rng, d=16, n_keys=8, n_rows=2000))
    margin = 2 * intervals.hoeffding_margin(2000)
    assert abs(found.largest.mean() - p.max(axis=-1).mean()) <= margin


# The row of it


def test_the_row_of_it():
    x = row.embeddings()
    raw = reference.dot(x[row.ASKS], x)
    assert dict(zip(row.WORDS, raw.round(1), strict=True))["it"] == 41.3
    assert reference.softmax(raw / 4)[row.ASKS] == pytest.approx(0.855, abs=5e-4)
    assert np.allclose((row.normalised() ** 2).mean(axis=-1), 1, atol=1e-3)


def test_scores_through_random_matrices_have_the_moments_of_the_theorem(rng):
    x, d, n = row.normalised(), 8, 4000
    found = row.through_random_matrices(rng, d, n)
    want = d * (x @ x.T) / row.WIDTH  # the query's row has mean square 1
    products = found[:, :, None] * found[:, None]
    error = products.std(axis=0) / n**0.5
    assert (abs(products.mean(axis=0) - want) < 5 * error + 0.01).all()
    assert (abs(found.mean(axis=0)) < 5 * (d / n) ** 0.5).all()


def test_distances_from_the_normal_law(rng):
    assert scores.distance_of_signs(1) == pytest.approx(0.341345, abs=1e-6)
    assert scores.distance_of_signs(2) == 0.25
    assert scores.distance_of_signs(3) == pytest.approx(0.218149, abs=1e-6)
    q, k = rng.standard_normal((2, 200_000, 4))
    ordered = np.sort(reference.dot(q, k) / 2)
    sampled = np.abs(ndtr(ordered) - (np.arange(200_000) + 0.5) / 200_000).max()
    margin = intervals.cdf_margin(200_000)
    assert abs(scores.distance_of_normals(4) - sampled) <= margin


def test_typical_sizes_are_one_only_where_the_assumptions_hold():
    found = scores.typical_sizes(np.random.default_rng(0), (64, 256), n=1000)
    for name in ("independent", "RMS-normalised"):
        assert np.all((found[name][:, 1] < 1.03) & (found[name][:, 2] > 0.97))
    for name, size in (("q = k", 8 / intervals.NORMAL_MEDIAN), ("length 1", 1 / 64)):
        low, high = found[name][0, 1:]
        assert low < 1.05 * size
        assert high > 0.95 * size
    assert found["Student, ν = 3"][1, 1] > 2
    assert found["Cauchy"][1, 1] > 50


def test_only_one_scale_finds_the_aligned_key_as_the_width_grows():
    found = scores.weight_of_aligned(np.random.default_rng(0), (16, 1024), rho=0.5, n_rows=200)
    assert found["1/√d"].mean(axis=-1)[1] > 0.99
    assert found["1/d"].mean(axis=-1) == pytest.approx([0.026, 0.0254], abs=0.002)


# Training


def test_training_repeats_whatever_the_number_of_threads():
    threads = torch.get_num_threads()
    runs = recall.train(16, 0.25, (1.0,), seeds=2, steps=5)
    assert torch.get_num_threads() == threads
    torch.set_num_threads(threads + 1)
    again = recall.train(16, 0.25, (1.0,), seeds=2, steps=5)
    torch.set_num_threads(threads)
    assert torch.equal(runs.losses, again.losses)


@pytest.mark.parametrize("adam", [False, True])
def test_runs_do_not_see_each_other(adam):
    rates = (0.01, 0.03)
    together = recall.train(16, 0.25, rates, adam, seeds=2, steps=4)
    alone = recall.train(16, 0.25, rates[1:], adam, seeds=2, steps=4)
    assert together.losses.shape == (4, 2, 2)
    assert torch.allclose(together.losses[:, 1], alone.losses[:, 0], rtol=1e-12)


def test_training_solves_the_task_with_the_usual_scale():
    runs = recall.train(16, 0.25, (0.1, 3.0), seeds=3, steps=60)
    assert (runs.final()[0] > runs.final()[1]).all()
    assert runs.losses[0].min() > 2
    assert runs.final()[1].max() < 0.05
    assert runs.matched[1, 1].min() > 20 > runs.matched[0].max()
    assert runs.aligned[0].abs().max() < 0.2
    assert runs.aligned[1, 1].min() > 0.9


def test_what_is_measured_of_queries_and_keys():
    embeddings, w_q, w_k = torch.randn(3, 1, recall.N_TOKENS, recall.N_TOKENS).double()
    q, k = (embeddings @ w for w in (w_q, w_k))
    own, aligned = recall._dots(embeddings, w_q, w_k)
    cosines = torch.nn.functional.cosine_similarity(q, k, dim=-1)
    assert torch.allclose(own, (q * k).sum(dim=-1).mean())
    assert torch.allclose(aligned, cosines.mean())


def test_typical_loss_lies_between_the_middle_two_of_an_even_number_of_seeds():
    losses = torch.tensor([[1.0, 1.0, 9.0, 9.0], [2.0, 2.0, 2.0, 2.0]]).expand(10, 2, 4)
    runs = recall.Runs((0.1, 1.0), losses, *torch.zeros(2, 2, 2, 4))
    assert runs.typical().tolist() == [5, 2]


def test_loss_is_that_of_the_mixture_with_its_floor():
    tokens = torch.stack([torch.randperm(recall.N_TOKENS)[: recall.N_STORED]])[None]
    embeddings = torch.randn(1, recall.N_TOKENS, recall.D_MODEL, dtype=torch.float64)
    w_q, w_k = torch.randn(2, 1, recall.D_MODEL, 8, dtype=torch.float64).requires_grad_()
    loss = recall._loss(embeddings, [w_q, w_k], 0.3, tokens)
    x = embeddings[0, tokens[0, 0]]
    p = torch.softmax(0.3 * (x @ w_q[0]) @ (x @ w_k[0]).mT, dim=-1).diagonal()
    want = -torch.log((1 - recall.FLOOR) * p + recall.FLOOR / recall.N_STORED).mean()
    assert torch.allclose(loss, want)


# Figures


def test_a_last_digit_that_nobody_sees_leaves_the_text_of_a_figure_alone(monkeypatch):
    widths = (4, 8, 16, 32, 64, 128, 256)
    drawn, exact = svg(figures_deeper.limit_law(widths)), scores.distance_of_normals
    monkeypatch.setattr(scores, "distance_of_normals", lambda d: exact(d) * (1 + 1e-13))
    assert svg(figures_deeper.limit_law(widths)) == drawn
