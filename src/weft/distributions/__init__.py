"""Probability distributions: draw values, and differentiate through them or their probabilities."""

from __future__ import annotations

from weft._missing import explain_missing
from weft.distributions import constraints, kl, transforms
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.categorical import Categorical
from weft.distributions.distribution import Distribution
from weft.distributions.exponential import Exponential
from weft.distributions.gamma import Beta, Chi2, Dirichlet, Gamma
from weft.distributions.geometric import Geometric
from weft.distributions.independent import Independent
from weft.distributions.kl import kl_divergence, register_kl
from weft.distributions.laplace import Laplace
from weft.distributions.mixture_same_family import MixtureSameFamily
from weft.distributions.multivariate_normal import MultivariateNormal
from weft.distributions.normal import Normal
from weft.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from weft.distributions.transformed_distribution import (
    Gumbel,
    HalfNormal,
    LogNormal,
    TransformedDistribution,
)
from weft.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from weft.distributions.uniform import Uniform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "constraints",
    "identity_transform",
    "kl",
    "kl_divergence",
    "register_kl",
    "transforms",
]

explain_missing(__name__)
