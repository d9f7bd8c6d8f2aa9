"""Probability distributions: draw values, and differentiate through them or their probabilities."""

from __future__ import annotations

from weft.distributions import constraints, kl
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.categorical import Categorical
from weft.distributions.distribution import Distribution
from weft.distributions.exponential import Exponential
from weft.distributions.independent import Independent
from weft.distributions.kl import kl_divergence, register_kl
from weft.distributions.multivariate_normal import MultivariateNormal
from weft.distributions.normal import Normal
from weft.distributions.uniform import Uniform

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "Independent",
    "MultivariateNormal",
    "Normal",
    "Uniform",
    "constraints",
    "kl",
    "kl_divergence",
    "register_kl",
]
