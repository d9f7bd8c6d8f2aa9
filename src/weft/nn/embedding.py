"""Tables of vectors that are looked up by number."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor
from weft.autograd import no_grad
from weft.functional.composite import ops
from weft.functional.creation import empty
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module, one_op
from weft.nn.parameter import Parameter


class Embedding(Module):
    """Look up rows of a table by their indices.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: size of a row.
        padding_idx: a row that starts as zeros and gets no gradient.
        max_norm: rows that are looked up and longer than this are shortened to it, in place.
        norm_type: which norm `max_norm` means.
        scale_grad_by_freq: divide a row's gradient by how often it was looked up.
        sparse: accepted for PyTorch programs; gradients are dense.
        device: only "cpu".
        dtype: of the table.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> table = nn.Embedding(10, 3, padding_idx=0)
        >>> table(weft.tensor([[1, 2, 0]])).shape
        weft.Size([1, 3, 3])
        >>> table(weft.tensor([0])).detach()  # padding is zero
        tensor([[0., 0., 0.]])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"Embedding(): padding_idx must be a row of the table; padding_idx is "
                    f"{padding_idx}, num_embeddings is {num_embeddings}."
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        sizes = (num_embeddings, embedding_dim)
        if _weight is None:
            table = empty(sizes, dtype=dtype, device=device)
            self.weight = Parameter(table, not _freeze)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != sizes:
                raise ValueError(
                    f"Embedding(): the weight must be {sizes}, but it is {tuple(_weight.shape)}."
                )
            self.weight = Parameter(_weight, not _freeze)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @one_op(ops.embedding, "weight", None, unless=("padding_idx", "max_norm", "scale_grad_by_freq"))
    def forward(self, input: Tensor) -> Tensor:
        """Return the rows that `input` names."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Say the sizes and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, default in (("padding_idx", None), ("max_norm", None), ("norm_type", 2)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        for name in ("scale_grad_by_freq", "sparse"):
            if getattr(self, name):
                text += f", {name}=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        **settings: Any,
    ) -> Embedding:
        """Make a module of a table that exists.

        Args:
            embeddings: the table, one row an index.
            freeze: whether training leaves it as it is.
            padding_idx: a row that gets no gradient.
            settings: more arguments of Embedding.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> table = nn.Embedding.from_pretrained(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
            >>> table(weft.tensor([1])), table.weight.requires_grad
            (tensor([[3., 4.]]), False)
        """
        if embeddings.dim() != 2:
            raise ValueError(
                "Embedding.from_pretrained(): embeddings must have 2 dimensions; embeddings is "
                f"{tuple(embeddings.shape)}."
            )
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze, **settings)


class EmbeddingBag(Module):
    """Look up rows of a table and reduce them bag by bag.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: size of a row.
        max_norm: only None.
        norm_type: accepted for PyTorch programs.
        scale_grad_by_freq: only False.
        mode: "sum", "mean" or "max".
        sparse: accepted for PyTorch programs; gradients are dense.
        _weight: a table that exists.
        include_last_offset: whether `offsets` has the end of the last bag too.
        padding_idx: a row that does not count.
        device: only "cpu".
        dtype: of the table.

    Example:
        >>> import weft
        >>> bag = weft.nn.EmbeddingBag(10, 3, mode="sum")
        >>> bag(weft.tensor([1, 2, 4, 5]), weft.tensor([0, 1])).shape
        weft.Size([2, 3])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        if _weight is None:
            sizes = (num_embeddings, embedding_dim)
            self.weight = Parameter(empty(sizes, dtype=dtype, device=device))
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Return one row for each bag."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Say the sizes and the mode."""
        text = f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
