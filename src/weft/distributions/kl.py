"""The Kullback-Leibler divergence of pairs of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from weft._core import Tensor, ops
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.categorical import Categorical
from weft.distributions.distribution import Distribution
from weft.distributions.exponential import Exponential
from weft.distributions.gamma import Beta, Dirichlet, Gamma
from weft.distributions.independent import Independent, sum_rightmost
from weft.distributions.laplace import Laplace
from weft.distributions.multivariate_normal import MultivariateNormal, solve_lower
from weft.distributions.normal import Normal
from weft.distributions.one_hot_categorical import OneHotCategorical
from weft.distributions.transformed_distribution import LogNormal, TransformedDistribution
from weft.distributions.uniform import Uniform
from weft.functional.selection import where

Formula = TypeVar("Formula", bound=Callable[[Any, Any], Tensor])
_formulas: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorate a function that computes the divergence of two types, and of their subclasses.

    Args:
        type_p: The type of the first distribution.
        type_q: The type of the second.

    Example:
        >>> import weft
        >>> from weft.distributions import Normal, kl_divergence, register_kl
        >>> class Shifted(Normal):
        ...     pass
        >>> @register_kl(Shifted, Normal)
        ... def shifted_normal(p, q):
        ...     return weft.zeros(())
        >>> kl_divergence(Shifted(1.0, 1.0), Normal(0.0, 1.0))
        tensor(0.)
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"register_kl: expected subclasses of Distribution, not {kind!r}")

    def decorate(formula: Formula) -> Formula:
        _formulas[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence from q to p: the mean over p of log(p / q).

    Args:
        p: A distribution.
        q: A distribution over the same values.

    Raises:
        NotImplementedError: If there is no formula for the two types.

    Example:
        >>> from weft.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
        tensor(0.5000)
    """
    found = [
        (type(p).__mro__.index(first) + type(q).__mro__.index(second), formula)
        for (first, second), formula in _formulas.items()
        if isinstance(p, first) and isinstance(q, second)
    ]
    if not found:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}; `register_kl` adds one."
        )
    return min(found, key=lambda pair: pair[0])[1](p, q)


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ops.log(ratio))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    soft = ops.softplus
    ones = p.probs * (soft(-q.logits) - soft(-p.logits))
    ones = where(ops.eq(q.probs, 0), math.inf, ones)
    ones = where(ops.eq(p.probs, 0), 0.0, ones)
    zeros = (1 - p.probs) * (soft(q.logits) - soft(p.logits))
    zeros = where(ops.eq(q.probs, 1), math.inf, zeros)
    zeros = where(ops.eq(p.probs, 1), 0.0, zeros)
    return ones + zeros


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where(ops.eq(q.probs, 0).expand_as(terms), math.inf, terms)
    terms = where(ops.eq(p.probs, 0).expand_as(terms), 0.0, terms)
    return terms.sum(-1)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ops.log((q.high - q.low) / (p.high - p.low))
    is_outside = ops.logical_or(ops.gt(q.low, p.low), ops.lt(q.high, p.high))
    return where(is_outside, math.inf, result)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, ops.abs(p.loc - q.loc)
    return -ops.log(ratio) + distance / q.scale + ratio * ops.exp(-distance / p.scale) - 1


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    alpha, other = p.concentration, q.concentration
    shapes = ops.lgamma(other) - ops.lgamma(alpha) + (alpha - other) * ops.digamma(alpha)
    return other * ops.log(p.rate / q.rate) + shapes + (q.rate - p.rate) * (alpha / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    alpha, other = p.concentration, q.concentration
    total = alpha.sum(-1)
    totals = ops.lgamma(total) - ops.lgamma(other.sum(-1))
    parts = (ops.lgamma(alpha) - ops.lgamma(other)).sum(-1)
    means = ops.digamma(alpha) - ops.digamma(total).unsqueeze(-1)
    return totals - parts + ((alpha - other) * means).sum(-1)


@register_kl(Beta, Beta)
def _beta_beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet_dirichlet(p.both, q.both)


@register_kl(LogNormal, LogNormal)
@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: Any, q: Any) -> Tensor:
    if [type(each) for each in p.transforms] != [type(each) for each in q.transforms]:
        raise NotImplementedError("KL(p || q) of distributions with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _vectors_of_classes(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical_categorical(p.categorical, q.categorical)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ops.log(ratio) + ratio - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _vectors_vectors(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two MultivariateNormals with different event shapes cannot be "
            f"computed: {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    spread = solve_lower(q.scale_tril, p.scale_tril)
    distance = solve_lower(q.scale_tril, (q.loc - p.loc).unsqueeze(-1))
    traces = (spread**2).sum((-2, -1)) + (distance**2).sum((-2, -1))
    return q.half_log_det() - p.half_log_det() + 0.5 * (traces - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL(p || q) of Independent distributions that take different numbers of dimensions"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width, middle = p.high - p.low, (p.high + p.low) / 2
    spread = (width**2 / 12 + (middle - q.loc) ** 2) / (2 * q.scale**2)
    return ops.log(math.sqrt(2 * math.pi) * q.scale / width) + spread


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ops.log((p.high - p.low) * q.rate)
    return where(ops.lt(p.low, 0), math.inf, result)


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance = q.scale**2
    distance = p.rate**-2 - q.loc / p.rate + q.loc**2 / 2
    return 0.5 * ops.log(p.rate**2 * variance * 2 * math.pi) - 1 + distance / variance


@register_kl(Normal, Uniform)
@register_kl(Normal, Exponential)
@register_kl(Exponential, Uniform)
def _unbounded_bounded(p: Any, q: Any) -> Tensor:
    """Return infinity: p gives values that q never gives."""
    shape = (p.mean + q.mean).shape
    return ops.full(shape, math.inf, dtype=p.mean.dtype)
