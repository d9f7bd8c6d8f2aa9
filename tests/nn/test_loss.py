"""Losses as modules: they do what the functions do, with their settings."""

from __future__ import annotations

import math

import pytest

import weft
from weft import nn
from weft.nn import functional as F


def scores(*shape):
    return weft.randn(shape)


def shares(*shape):
    return weft.rand(shape) * 0.9 + 0.05


def signs(*shape):
    return (weft.rand(shape) > 0.5).float() * 2 - 1


CASES = {
    "L1Loss": ({}, F.l1_loss, lambda: (scores(3, 4), scores(3, 4))),
    "MSELoss": ({}, F.mse_loss, lambda: (scores(3, 4), scores(3, 4))),
    "SmoothL1Loss": ({"beta": 0.3}, F.smooth_l1_loss, lambda: (scores(3, 4), scores(3, 4))),
    "HuberLoss": ({"delta": 0.3}, F.huber_loss, lambda: (scores(3, 4), scores(3, 4))),
    "CrossEntropyLoss": (
        {"weight": weft.tensor([1.0, 2.0, 3.0]), "label_smoothing": 0.1, "ignore_index": 1},
        F.cross_entropy,
        lambda: (scores(4, 3), weft.tensor([0, 1, 2, 2])),
    ),
    "NLLLoss": (
        {"weight": weft.tensor([1.0, 2.0, 3.0]), "ignore_index": 1},
        F.nll_loss,
        lambda: (scores(4, 3), weft.tensor([0, 1, 2, 2])),
    ),
    "BCELoss": (
        {"weight": weft.tensor([1.0, 2.0])},
        F.binary_cross_entropy,
        lambda: (shares(3, 2), shares(3, 2)),
    ),
    "BCEWithLogitsLoss": (
        {"weight": weft.tensor([1.0, 2.0]), "pos_weight": weft.tensor([3.0, 4.0])},
        F.binary_cross_entropy_with_logits,
        lambda: (scores(3, 2), shares(3, 2)),
    ),
    "KLDivLoss": ({"log_target": True}, F.kl_div, lambda: (scores(3, 4), scores(3, 4))),
    "PoissonNLLLoss": (
        {"log_input": False, "full": True},
        F.poisson_nll_loss,
        lambda: (shares(3, 4), shares(3, 4) * 9),
    ),
    "GaussianNLLLoss": (
        {"full": True},
        F.gaussian_nll_loss,
        lambda: (scores(3, 4), scores(3, 4), shares(3, 4)),
    ),
    "SoftMarginLoss": ({}, F.soft_margin_loss, lambda: (scores(3, 4), signs(3, 4))),
    "HingeEmbeddingLoss": ({"margin": 2.0}, F.hinge_embedding_loss, lambda: (scores(5), signs(5))),
    "MarginRankingLoss": (
        {"margin": 0.5},
        F.margin_ranking_loss,
        lambda: (scores(5), scores(5), signs(5)),
    ),
    "CosineEmbeddingLoss": (
        {"margin": 0.2},
        F.cosine_embedding_loss,
        lambda: (scores(5, 3), scores(5, 3), signs(5)),
    ),
    "TripletMarginLoss": (
        {"margin": 0.5, "swap": True, "p": 1.0},
        F.triplet_margin_loss,
        lambda: (scores(5, 3), scores(5, 3), scores(5, 3)),
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", CASES)
def test_settings_reach_the_function(name, reduction):
    settings, function, inputs = CASES[name]
    given = inputs()
    module = getattr(nn, name)(reduction=reduction, **settings)
    expected = function(*given, reduction=reduction, **settings)
    assert weft.equal(module(*given), expected)
    assert repr(module) == f"{name}()"


@pytest.mark.parametrize("name", CASES)
def test_reductions_agree(name):
    settings, function, inputs = CASES[name]
    given = inputs()
    each = function(*given, reduction="none", **settings)
    assert weft.allclose(function(*given, reduction="sum", **settings), each.sum())
    if name not in ("CrossEntropyLoss", "NLLLoss"):  # their means are weighted
        assert weft.allclose(function(*given, **settings), each.mean())
    with pytest.raises(ValueError, match="most"):
        function(*given, reduction="most", **settings)


def test_weights_are_buffers():
    loss = nn.CrossEntropyLoss(weight=weft.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype is weft.float64


def test_distances():
    x, y = scores(3, 4), scores(3, 4)
    assert weft.equal(nn.CosineSimilarity(dim=1)(x, y), F.cosine_similarity(x, y))
    assert weft.equal(
        nn.PairwiseDistance(p=1, keepdim=True)(x, y), F.pairwise_distance(x, y, 1, keepdim=True)
    )


def test_sure_but_wrong_predictions_have_finite_losses_and_gradients():
    x = weft.tensor([0.0, 1.0, 0.5], requires_grad=True)
    loss = F.binary_cross_entropy(x, weft.tensor([1.0, 0.0, 1.0]), reduction="none")
    assert loss.tolist()[:2] == [100, 100]
    loss.sum().backward()
    assert weft.isfinite(x.grad).all()
    logits = weft.tensor([-200.0, 200.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(logits, weft.tensor([1.0, 0.0]), reduction="sum")
    assert loss == 400
    loss.backward()
    assert logits.grad.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.mse_loss(weft.zeros(2, 3), weft.zeros(4)), r"mse_loss.*\(2, 3\).*\(4,\)"),
        (lambda: F.binary_cross_entropy(weft.zeros(2), weft.zeros(3)), r"\(2,\).*\(3,\)"),
        (lambda: F.huber_loss(weft.zeros(2), weft.zeros(2), delta=0.0), "delta"),
        (lambda: F.smooth_l1_loss(weft.zeros(2), weft.zeros(2), beta=-1.0), "beta"),
        (lambda: F.gaussian_nll_loss(weft.zeros(2), weft.zeros(2), -1.0), "var"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_smooth_l1_without_a_bend_is_l1():
    x, y = scores(5), scores(5)
    assert weft.equal(F.smooth_l1_loss(x, y, beta=0.0), F.l1_loss(x, y))


def test_the_old_names_of_reductions() -> None:
    x, y = weft.rand(3, 4), weft.rand(3, 4)
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert weft.equal(nn.MSELoss(size_average=False)(x, y), nn.MSELoss(reduction="sum")(x, y))
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert nn.functional.l1_loss(x, y, reduce=False).shape == (3, 4)
    with pytest.warns(UserWarning, match="please use reduction='mean' instead"):
        loss = nn.CrossEntropyLoss(size_average=True, reduce=True)
    assert loss.reduction == "mean"
    assert nn.BCELoss(size_average=None, reduce=None).reduction == "mean"


def test_losses_go_by_pytorchs_names() -> None:
    x, y = weft.rand(3, 4, requires_grad=True), weft.rand(3, 4)
    assert nn.functional.mse_loss(x, y).grad_fn.name() == "MseLossBackward0"
    assert nn.BCELoss(reduction="sum")(x, y).grad_fn.name() == "BinaryCrossEntropyBackward0"


@pytest.mark.parametrize(
    ("reduction", "expected"), [("none", [0.0, math.inf, math.log(3)]), ("sum", math.inf)]
)
def test_ctc_loss_without_steps(reduction, expected):
    logs = weft.zeros(2, 3, 3).log_softmax(2)
    targets = weft.tensor([[1], [1], [1]])
    found = nn.functional.ctc_loss(logs, targets, [0, 0, 1], [0, 1, 0], reduction=reduction)
    assert found.tolist() == (pytest.approx(expected) if reduction == "none" else expected)


def test_gradient_of_ctc_loss_without_steps():
    x = weft.zeros(2, 3, 2, requires_grad=True)
    loss = nn.functional.ctc_loss(
        x.log_softmax(2),
        weft.tensor([1]),
        [0, 0, 1],
        [0, 1, 0],
        reduction="sum",
        zero_infinity=True,
    )
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2))
    assert x.grad[0].tolist() == [[0, 0], [0, 0], [pytest.approx(-0.5), pytest.approx(0.5)]]
    assert x.grad[1].abs().sum() == 0


@pytest.mark.parametrize("values", [[1.5, 0.5], [-0.5, 0.5], [math.nan, 0.5]])
def test_binary_cross_entropy_takes_probabilities(values):
    with pytest.raises(ValueError, match=r"binary_cross_entropy.*between 0 and 1"):
        F.binary_cross_entropy(weft.tensor(values), weft.tensor([1.0, 0.0]))
    edges = F.binary_cross_entropy(weft.tensor([0.0, 1.0]), weft.tensor([0.0, 1.0]))
    assert edges.item() == 0
    assert F.binary_cross_entropy(weft.zeros(0), weft.zeros(0), reduction="sum").item() == 0


@pytest.mark.parametrize("place", [-1, -2, -4, 3])
def test_classes_do_not_count_from_the_end(place):
    scores, target = weft.zeros(2, 3), weft.tensor([0, place])
    for loss in (
        lambda: F.nll_loss(scores, target),
        lambda: F.cross_entropy(scores, target),
        lambda: F.cross_entropy(scores, target, weight=weft.ones(3)),
        lambda: F.cross_entropy(scores, target, label_smoothing=0.1),
        lambda: F.multi_margin_loss(scores, target),
    ):
        with pytest.raises(IndexError, match=f"{place}"):
            loss()
    if place != -1:  # there it ends the list
        with pytest.raises(IndexError, match=f"{place}"):
            F.multilabel_margin_loss(scores, weft.tensor([[0, place, -1]] * 2))
