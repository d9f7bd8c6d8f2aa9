"""Labels that are no classes: losses say what to write instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import weft
from weft import nn
from weft.nn import functional as F

SCORES = weft.zeros(3, 4)
LABELS = weft.tensor([0.0, 1.0, 2.0])
IMAGES = weft.zeros(2, 4, 5, 5)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: F.cross_entropy(SCORES, LABELS), "target.long()"),
        (lambda: F.cross_entropy(SCORES, LABELS.double()), "target.long()"),
        (lambda: F.cross_entropy(SCORES, LABELS > 0), "target.long()"),
        (lambda: F.cross_entropy(SCORES, LABELS, weight=weft.ones(4)), "target.long()"),
        (lambda: F.cross_entropy(SCORES, LABELS, label_smoothing=0.1), "target.long()"),
        (lambda: F.cross_entropy(SCORES, LABELS > 0, label_smoothing=0.1), "target.long()"),
        (lambda: F.cross_entropy(SCORES, LABELS.unsqueeze(1)), "target.squeeze(1).long()"),
        (lambda: F.cross_entropy(SCORES[0], LABELS[0]), "target.long()"),
        (lambda: F.cross_entropy(IMAGES, weft.zeros(2, 5, 5)), "target.long()"),
        (lambda: F.cross_entropy(IMAGES, weft.zeros(2, 1, 5, 5)), "target.squeeze(1).long()"),
        (lambda: nn.CrossEntropyLoss()(SCORES, LABELS), "target.long()"),
        (lambda: F.nll_loss(SCORES, LABELS), "target.long()"),
        (lambda: F.nll_loss(SCORES, LABELS, weight=weft.ones(4)), "target.long()"),
        (lambda: F.nll_loss(SCORES, LABELS.unsqueeze(1)), "target.squeeze(1).long()"),
        (lambda: F.nll_loss(SCORES[0], LABELS[0]), "target.long()"),
        (lambda: nn.NLLLoss()(SCORES, LABELS), "target.long()"),
    ],
)
def test_labels_must_be_integers(call: Callable[[], object], advice: str) -> None:
    with pytest.raises(weft.DTypeError) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(("cross_entropy(input, target): ", "nll_loss(input, target): "))
    assert f"; write {advice}" in text
    assert "Here input is (" in text
    is_float = "float" in text
    assert ("give probabilities of input's shape" in text) == (is_float and text[0] == "c")


def test_under_lazy_and_map() -> None:
    with weft.lazy(), pytest.raises(weft.DTypeError, match=r"target\.long\(\)"):
        F.cross_entropy(SCORES, LABELS)
    with pytest.raises(weft.DTypeError, match=r"target\.long\(\)"):
        weft.map(lambda label: F.cross_entropy(SCORES[0], label), list(LABELS))


def test_the_advice_works() -> None:
    expected = F.cross_entropy(SCORES, weft.tensor([0, 1, 2])).item()
    assert F.cross_entropy(SCORES, LABELS.long()).item() == expected
    assert F.cross_entropy(SCORES, LABELS.unsqueeze(1).squeeze(1).long()).item() == expected


def test_probabilities_stay_probabilities() -> None:
    even = weft.full((3, 4), 0.25)
    assert F.cross_entropy(SCORES, even).item() == pytest.approx(1.3862944)
    one_class = F.cross_entropy(weft.zeros(3, 1), weft.ones(3, 1))
    assert one_class.item() == 0
    with pytest.raises(weft.ShapeError, match="target probabilities must be like input"):
        F.cross_entropy(SCORES, weft.ones(3, 5))


def test_classes_in_a_column() -> None:
    with pytest.raises(weft.ShapeError, match=r"target is \(3, 1\); write target\.squeeze\(1\)$"):
        F.cross_entropy(SCORES, weft.tensor([[0], [1], [2]]))
    with pytest.raises(weft.ShapeError, match=r"target is \(5,\)$"):
        F.cross_entropy(SCORES, weft.zeros(5, dtype=weft.int64))
