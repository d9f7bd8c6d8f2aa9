"""How each Module class of PyTorch is compared: how it is made, and with which inputs it is called.

This file needs no PyTorch: scripts/generate_nn_coverage.py reads it too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One module and one call.

    Arguments:
        name: the class, in `torch.nn` and `weft.nn`.
        args: its arguments; arrays become tensors.
        kwargs: its arguments by name.
        inputs: what it is called with; the same array twice is the same tensor twice.
        train: whether it is called while training.
        call: what it is called with by name.
    """

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ()
    train: bool = True
    call: dict[str, Any] = field(default_factory=dict)


RANDOM = np.random.default_rng(0)


def x(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return RANDOM.uniform(low, high, shape)


def index(*shape: int, below: int) -> np.ndarray:
    return RANDOM.integers(0, below, shape)


def case(
    name: str, *args: Any, inputs: Any = None, train: bool = True, call: Any = None, **kw: Any
):
    given = x(3, 4) if inputs is None else inputs
    several = given if isinstance(given, tuple) else (given,)
    return Case(name, args, kw, several, train, call or {})


LINE, PLANE, VOLUME = x(2, 4, 9), x(2, 4, 7, 8), x(2, 4, 5, 6, 5)
LAYOUTS = {1: LINE, 2: PLANE, 3: VOLUME}
PROBABILITY = x(3, 4, low=0.1, high=0.9)
ELEMENTWISE = (
    "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU ReLU "
    "ReLU6 RReLU SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Identity"
)


def _cases() -> list[Case]:
    found = [case(name) for name in ELEMENTWISE.split()]
    found += [
        case("RReLU", train=False),
        case("Threshold", 0.3, 1.5),
        case("GLU"),
        case("Softmax", 1),
        case("LogSoftmax", 1),
        case("Softmin", 1),
        case("Softmax2d", inputs=PLANE),
        case("Linear", 4, 5),
        case("Linear", 4, 5, bias=False),
        case("Bilinear", 4, 3, 5, inputs=(x(6, 4), x(6, 3))),
        case("Flatten", inputs=PLANE),
        case("Unflatten", 1, (2, 2), inputs=PLANE),
        case("Embedding", 10, 3, inputs=index(2, 5, below=10)),
        case("Embedding", 10, 3, padding_idx=2, inputs=index(2, 5, below=10)),
        case("EmbeddingBag", 10, 3, inputs=(index(9, below=10), np.array([0, 2, 2, 5]))),
        case("EmbeddingBag", 10, 3, mode="max", inputs=index(3, 4, below=10)),
        case("EmbeddingBag", 10, 3, mode="sum", padding_idx=1, inputs=index(3, 4, below=10)),
        case("CosineSimilarity", inputs=(x(3, 4), x(3, 4))),
        case("PairwiseDistance", inputs=(x(3, 4), x(3, 4))),
        case("LayerNorm", 4),
        case("LayerNorm", (7, 8), bias=False, inputs=PLANE),
        case("RMSNorm", 4),
        case("GroupNorm", 2, 4, inputs=PLANE),
        case("LocalResponseNorm", 3, inputs=PLANE),
        case("LocalResponseNorm", 2, alpha=0.5, k=2.0, inputs=LINE),
        case("PixelShuffle", 2, inputs=PLANE),
        case("PixelUnshuffle", 2, inputs=x(2, 3, 4, 6)),
        case("ChannelShuffle", 2, inputs=PLANE),
        case("Upsample", scale_factor=2, inputs=PLANE),
        case("Upsample", size=(5, 9), mode="bilinear", inputs=PLANE),
        case("UpsamplingNearest2d", scale_factor=2, inputs=PLANE),
        case("UpsamplingBilinear2d", size=(9, 5), inputs=PLANE),
        case("Fold", (5, 6), (2, 2), inputs=x(2, 12, 20)),
        case("Unfold", (2, 3), padding=1, stride=2, inputs=PLANE),
        case("AlphaDropout", 0.4),
        case("FeatureAlphaDropout", 0.4, inputs=PLANE),
        case("Dropout", 0.4),
        case("Dropout", 0.4, train=False),
        case("Dropout1d", 0.4, inputs=LINE),
        case("Dropout2d", 0.4, inputs=PLANE),
        case("Dropout3d", 0.4, inputs=VOLUME),
    ]
    for rank, input in LAYOUTS.items():
        for train in (True, False):
            found.append(case(f"BatchNorm{rank}d", 4, inputs=input, train=train))
            found.append(case(f"LazyBatchNorm{rank}d", inputs=input, train=train))
            found.append(case(f"LazyInstanceNorm{rank}d", inputs=input, train=train))
            found.append(case(f"InstanceNorm{rank}d", 4, affine=True, inputs=input, train=train))
        settings = {"stride": 2, "padding": 1, "groups": 2}
        for name in (f"Conv{rank}d", f"ConvTranspose{rank}d"):
            found.append(case(name, 4, 6, 3, inputs=input))
            found.append(case(name, 4, 6, 3, inputs=input, dilation=2, **settings))
            found.append(case(f"Lazy{name}", 6, 3, inputs=input))
        found += [
            case(f"Conv{rank}d", 4, 6, 3, padding="same", bias=False, inputs=input),
            case(f"Conv{rank}d", 4, 6, 3, padding=1, padding_mode="circular", inputs=input),
            case(f"ConvTranspose{rank}d", 4, 6, 3, 2, 1, 1, inputs=input),
            case(f"MaxPool{rank}d", 2, inputs=input),
            case(f"MaxPool{rank}d", 3, 2, 1, ceil_mode=True, inputs=input),
            case(f"MaxPool{rank}d", 2, return_indices=True, inputs=input),
            case(f"AvgPool{rank}d", 2, inputs=input),
            case(f"AvgPool{rank}d", 3, 2, 1, True, False, inputs=input),
            case(f"LPPool{rank}d", 2, 2, inputs=np.abs(input) + 0.1),
            case(f"AdaptiveAvgPool{rank}d", 3, inputs=input),
            case(f"AdaptiveMaxPool{rank}d", 3, inputs=input),
            case(f"AdaptiveMaxPool{rank}d", 2, True, inputs=input),
            case(f"ConstantPad{rank}d", 2, 1.5, inputs=input),
            case(f"ZeroPad{rank}d", 1, inputs=input),
        ]
        found += [
            case(f"{mode}Pad{rank}d", tuple(range(1, 2 * rank + 1))[:2] * rank, inputs=input)
            for mode in ("Circular", "Reflection", "Replication")
        ]
        places = np.stack([RANDOM.permutation(4**rank)[: 2**rank] for _ in range(6)])
        pooled = x(2, 3, *[2] * rank)
        found.append(case(f"MaxUnpool{rank}d", 2, inputs=(pooled, places.reshape(pooled.shape))))
    found.append(case("LazyLinear", 5))
    found += _losses() + _recurrent() + _attention()
    return found


def _losses() -> list[Case]:
    pair = (x(3, 4), x(3, 4))
    signs = np.where(index(3, 4, below=2) == 0, -1.0, 1.0)
    classes = index(3, below=4)
    chances = np.log(x(3, 4, low=0.1, high=1.0))
    found = [
        case(name, reduction=reduction, inputs=pair)
        for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss")
        for reduction in ("mean", "sum", "none")
    ]
    triple = (x(5, 4), x(5, 4), x(5, 4))
    logs = x(8, 3, 5)
    logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    wanted = RANDOM.integers(1, 5, (3, 3))
    lengths = (np.array([8, 7, 6]), np.array([3, 2, 1]))
    found += [
        case("CrossEntropyLoss", inputs=(x(3, 4), classes)),
        case("CrossEntropyLoss", label_smoothing=0.1, inputs=(x(3, 4), classes)),
        case("CrossEntropyLoss", weight=x(4, low=0.5), inputs=(x(3, 4), classes)),
        case("CrossEntropyLoss", inputs=(x(3, 4), x(3, 4, low=0, high=1))),
        case("NLLLoss", inputs=(x(3, 4), classes)),
        case("NLLLoss2d", inputs=(PLANE, index(2, 7, 8, below=4))),
        case("BCELoss", inputs=(PROBABILITY, x(3, 4, low=0, high=1))),
        case("BCEWithLogitsLoss", pos_weight=x(4, low=0.5), inputs=(x(3, 4), x(3, 4, low=0))),
        case("KLDivLoss", reduction="batchmean", inputs=(chances, x(3, 4, low=0.1, high=1))),
        case("PoissonNLLLoss", inputs=(x(3, 4), x(3, 4, low=0.1))),
        case("GaussianNLLLoss", inputs=(x(3, 4), x(3, 4), x(3, 4, low=0.2))),
        case("SoftMarginLoss", inputs=(x(3, 4), signs)),
        case("HingeEmbeddingLoss", inputs=(x(3, 4), signs)),
        case("MarginRankingLoss", 0.3, inputs=(x(4), x(4), signs[0])),
        case("CosineEmbeddingLoss", 0.2, inputs=(x(3, 4), x(3, 4), signs[:, 0])),
        case("TripletMarginLoss", swap=True, inputs=triple),
        case("TripletMarginWithDistanceLoss", swap=True, inputs=triple),
        case("MultiMarginLoss", 2, 0.7, x(4, low=0.2), inputs=(x(3, 4), classes)),
        case("MultiMarginLoss", reduction="none", inputs=(x(3, 4), classes)),
        case(
            "MultiLabelMarginLoss",
            inputs=(x(3, 4), np.array([[1, 2, -1, 0], [3, -1, -1, -1], [0, 1, 2, 3]])),
        ),
        case("MultiLabelSoftMarginLoss", inputs=(x(3, 4), index(3, 4, below=2).astype(float))),
        case("CTCLoss", inputs=(logs, wanted, *lengths)),
        case("CTCLoss", reduction="none", inputs=(logs, wanted, *lengths)),
        case("CTCLoss", reduction="sum", zero_infinity=True, inputs=(logs[:2], wanted,
             np.array([2, 2, 2]), np.array([3, 2, 1]))),
    ]  # fmt: skip
    return found


def _recurrent() -> list[Case]:
    steps = x(6, 3, 4)
    found = [case(name, 4, 5) for name in ("RNNCell", "LSTMCell", "GRUCell")]
    found.append(case("RNNCell", 4, 5, nonlinearity="relu", inputs=(x(3, 4), x(3, 5))))
    for name in ("RNN", "LSTM", "GRU"):
        found.append(case(name, 4, 5, inputs=steps))
        found.append(
            case(name, 4, 5, 2, dropout=0.3, bidirectional=True, batch_first=True, inputs=steps)
        )
    return found


def _attention() -> list[Case]:
    query, memory = x(5, 3, 8), x(6, 3, 8)
    hidden = np.triu(np.ones((5, 5), bool), 1)
    padding = np.zeros((3, 6), bool)
    padding[1, 4:] = True
    layer = {"dim_feedforward": 12, "dropout": 0.0}
    batch = x(3, 5, 8)
    return [
        case("MultiheadAttention", 8, 2, inputs=(query, memory, memory)),
        case("MultiheadAttention", 8, 2, dropout=0.3, inputs=(query, memory, memory)),
        case("MultiheadAttention", 8, 2, inputs=(query, query, query), call={"attn_mask": hidden}),
        case(
            "MultiheadAttention",
            8,
            2,
            inputs=(query, memory, memory),
            call={"key_padding_mask": padding, "need_weights": False},
        ),
        case(
            "MultiheadAttention",
            8,
            4,
            kdim=3,
            vdim=5,
            add_bias_kv=True,
            add_zero_attn=True,
            batch_first=True,
            inputs=(batch, x(3, 6, 3), x(3, 6, 5)),
            call={"average_attn_weights": False, "key_padding_mask": padding},
        ),
        case("TransformerEncoderLayer", 8, 2, **layer, inputs=query),
        case("TransformerEncoderLayer", 8, 2, 12, 0.2, inputs=query),
        case("TransformerEncoderLayer", 8, 2, norm_first=True, **layer, inputs=query, train=False),
        case(
            "TransformerEncoderLayer", 8, 2, activation="gelu", batch_first=True, **layer,
            inputs=batch, call={"src_mask": hidden},
        ),
        case("TransformerDecoderLayer", 8, 2, **layer, inputs=(query, memory),
             call={"tgt_mask": hidden, "memory_key_padding_mask": padding}),
        case("TransformerDecoderLayer", 8, 2, norm_first=True, **layer, inputs=(query, memory)),
        case("Transformer", 8, 2, 2, 1, **layer, inputs=(memory, query), call={"tgt_mask": hidden}),
    ]  # fmt: skip


CASES: list[Case] = _cases()
# Compared in tests of their own: what they are made of is not data.
SPECIAL = {
    "Module": "tests/nn/test_module.py",
    "ModuleDict": "tests/nn/test_containers.py",
    "ModuleList": "tests/nn/test_containers.py",
    "ParameterDict": "tests/nn/test_containers.py",
    "ParameterList": "tests/nn/test_containers.py",
    "RNNBase": "the base class of RNN, LSTM and GRU",
    "RNNCellBase": "the base class of the cells",
    "Sequential": "tests/nn/test_containers.py",
    "TransformerDecoder": "through Transformer",
    "TransformerEncoder": "through Transformer",
}
