"""Losses as modules. Each holds its settings; the work is done in `functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._core import Tensor
from weft.functional.losses import old_reduction
from weft.nn import functional as F
from weft.nn.module import Module


class _Loss(Module):
    reduction: str

    def __init_subclass__(cls) -> None:
        cls.__init__ = old_reduction(cls.__init__)

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class L1Loss(_Loss):
    """Compare by the absolute difference.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.L1Loss()(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 5.0]))
        tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Compare by the squared difference.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.MSELoss(reduction="none")(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 5.0]))
        tensor([0., 9.])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Compare by a difference that is squared near zero.

    Args:
        reduction: "mean", "sum" or "none".
        beta: where the square ends.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.SmoothL1Loss(reduction="none")(weft.tensor([0.5, 3.0]), weft.zeros(2))
        tensor([0.1250, 2.5000])
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Compare by half the square near zero and linearly beyond.

    Args:
        reduction: "mean", "sum" or "none".
        delta: where the square ends.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.HuberLoss("none", delta=2.0)(weft.tensor([0.5, 3.0]), weft.zeros(2))
        tensor([0.1250, 4.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(self, weight: Tensor | None, reduction: str) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """Compare scores with classes or with probabilities of classes.

    Args:
        weight: a factor for each class.
        ignore_index: a class that does not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: share of the target that is spread over all classes.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.CrossEntropyLoss(label_smoothing=0.1)(weft.tensor([[2.0, 0.0]]), weft.tensor([0]))
        tensor(0.2269)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_WeightedLoss):
    """Take the negative log-probability of the right class.

    Args:
        weight: a factor for each class.
        ignore_index: a class that does not count.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.NLLLoss()(weft.tensor([[-0.5, -1.0]]), weft.tensor([1]))
        tensor(1.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class BCELoss(_WeightedLoss):
    """Compare probabilities with targets between 0 and 1.

    Args:
        weight: a factor for each element.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.BCELoss()(weft.tensor([0.9, 0.1]), weft.tensor([1.0, 0.0]))
        tensor(0.1054)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Compare scores before the sigmoid with targets between 0 and 1.

    Args:
        weight: a factor for each element.
        reduction: "mean", "sum" or "none".
        pos_weight: a factor for the positive part of each class.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> loss = nn.BCEWithLogitsLoss(pos_weight=weft.tensor(3.0))
        >>> loss(weft.tensor([0.0]), weft.tensor([1.0]))
        tensor(2.0794)
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.binary_cross_entropy_with_logits(
            input,
            target,
            weight=self.weight,
            reduction=self.reduction,
            pos_weight=self.pos_weight,
        )


class KLDivLoss(_Loss):
    """Measure how far log-probabilities are from a target distribution.

    Args:
        reduction: "batchmean", "mean", "sum" or "none".
        log_target: whether the target is logarithms too.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> logs = weft.tensor([[0.5, 0.5]]).log()
        >>> nn.KLDivLoss(reduction="batchmean")(logs, weft.tensor([[0.9, 0.1]]))
        tensor(0.3681)
    """

    def __init__(
        self,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """Take the negative log-likelihood of counts.

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: whether to add Stirling's approximation of the constant term.
        eps: added to the rate before the logarithm.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.PoissonNLLLoss()(weft.tensor([0.0]), weft.tensor([2.0]))  # input is a logarithm
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Compare `log_input` with `target`."""
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Take the negative log-likelihood of a normal distribution.

    Args:
        full: whether to add the constant term.
        eps: the least variance.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.GaussianNLLLoss()(weft.tensor([1.0]), weft.tensor([3.0]), weft.tensor([4.0]))
        tensor(1.1931)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        """Compare `input` with `target` under the variance `var`."""
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """Compare scores with signs by log(1 + exp(-target * input)).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.SoftMarginLoss()(weft.tensor([2.0, 2.0]), weft.tensor([1.0, -1.0]))
        tensor(1.1269)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class _MarginLoss(_Loss):
    def __init__(self, margin: float, reduction: str) -> None:
        super().__init__(reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """Keep distances of like pairs small and of unlike pairs above a margin.

    Args:
        margin: the distance that is enough.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.HingeEmbeddingLoss(margin=1.0)(weft.tensor([0.3, 0.3]), weft.tensor([1.0, -1.0]))
        tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """Keep the higher ranked of two scores above the other by a margin.

    Args:
        margin: the difference that is enough.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> better, worse, order = weft.tensor([2.0]), weft.tensor([1.5]), weft.tensor([1.0])
        >>> nn.MarginRankingLoss(margin=1.0)(better, worse, order)
        tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 0.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare the order of `input1` and `input2` with `target`."""
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_MarginLoss):
    """Turn vectors of like pairs to one another, and those of unlike pairs apart.

    Args:
        margin: the cosine that is apart enough.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x, y = weft.tensor([[1.0, 0.0]]), weft.tensor([[0.0, 1.0]])
        >>> nn.CosineEmbeddingLoss()(x, y, weft.tensor([1.0]))
        tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare the angle of `input1` and `input2` with `target`."""
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class TripletMarginLoss(_MarginLoss):
    """Keep an anchor closer to a like example than to an unlike one.

    Args:
        margin: by how much.
        p: the norm of distances.
        eps: added to differences.
        swap: whether the distance of the two examples may stand in.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> anchor, near, far = weft.zeros(1, 2), weft.zeros(1, 2), weft.tensor([[3.0, 4.0]])
        >>> nn.TripletMarginLoss(margin=6.0)(anchor, near, far)
        tensor(1.0000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, reduction)
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compare `anchor` with `positive` and `negative`."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_MarginLoss):
    """Keep an anchor closer to a like example than to an unlike one, by any distance.

    Args:
        distance_function: measures two tensors of examples; the Euclidean distance if not given.
        margin: by how much.
        swap: whether the distance of the two examples may stand in.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> anchor, near, far = weft.zeros(1, 2), weft.zeros(1, 2), weft.tensor([[3.0, 4.0]])
        >>> nn.TripletMarginWithDistanceLoss(distance_function=weft.dist)(anchor, near, far)
        tensor(0.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, reduction)
        self.distance_function: Any = distance_function or PairwiseDistance()
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compare `anchor` with `positive` and `negative`."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class MultiMarginLoss(_Loss):
    """Let the right class lead over the others by a margin.

    Args:
        p: the power of what is lacking.
        margin: the lead that is enough.
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.MultiMarginLoss()(weft.tensor([[1.0, 0.5, 0.0]]), weft.tensor([0]))
        tensor(0.1667)
    """

    weight: Tensor | None

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.p = p
        self.margin = margin
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Let right classes lead over wrong ones by one.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> classes = weft.tensor([[0, -1, -1]])  # -1: no more of them
        >>> nn.MultiLabelMarginLoss()(weft.tensor([[0.9, 0.1, 0.2]]), classes)
        tensor(0.1667)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.multilabel_margin_loss(input, target, self.reduction)


class MultiLabelSoftMarginLoss(_Loss):
    """Compare independent classes by their mean cross entropy.

    Args:
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.MultiLabelSoftMarginLoss()(weft.tensor([[5.0, -5.0]]), weft.tensor([[1.0, 0.0]]))
        tensor(0.0067)
    """

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, self.reduction)


class CTCLoss(_Loss):
    """Compare sequences whose alignment is not known; see `functional.ctc_loss`.

    Args:
        blank: the class that stands for nothing.
        reduction: "mean", "sum" or "none".
        zero_infinity: whether targets that cannot be count as zero.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> log_probs = weft.zeros(4, 1, 3).log_softmax(-1)  # time, batch, classes; 0 is blank
        >>> nn.CTCLoss()(log_probs, weft.tensor([[1, 2]]), [4], [2])
        tensor(0.8432)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """Compare `log_probs` with `targets`."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


class CosineSimilarity(Module):
    """Return the cosine of the angle between vectors.

    Args:
        dim: where the vectors lie.
        eps: the least length.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.CosineSimilarity(dim=1)(weft.tensor([[1.0, 0.0]]), weft.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Compare `x1` with `x2`."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Return the distance between vectors.

    Args:
        p: the norm.
        eps: added to differences.
        keepdim: whether the last dimension stays with size one.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.PairwiseDistance(p=1)(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
        tensor([7.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Compare `x1` with `x2`."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class NLLLoss2d(NLLLoss):
    """Compare log probabilities of pixels with their classes: an old name of NLLLoss.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.NLLLoss2d()(weft.zeros(1, 2, 3, 3), weft.zeros(1, 3, 3, dtype=weft.int64)).shape
        weft.Size([])
    """
