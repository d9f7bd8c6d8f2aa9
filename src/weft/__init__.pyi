# Written by scripts/generate_stub.py (`make stub`) from the op table; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportPrivateUsage=false, reportSelfClsParameterName=false
"""Weft: a define-by-run deep-learning library whose graphs follow your data.

The names are PyTorch's: `import weft as torch` runs PyTorch programs.
"""

from collections.abc import Sequence
from typing import overload

from weft._core import _bool, _dtype, _float, _int, _Number
from weft._core import ArgumentError as ArgumentError
from weft._core import DTypeError as DTypeError
from weft._core import Generator as Generator
from weft._core import GradientError as GradientError
from weft._core import InternalError as InternalError
from weft._core import LinAlgError as LinAlgError
from weft._core import OutOfMemoryError as OutOfMemoryError
from weft._core import OutOfRangeError as OutOfRangeError
from weft._core import ShapeError as ShapeError
from weft._tensor import Size as Size
from weft._core import Tensor as Tensor
from weft._core import UnsupportedError as UnsupportedError
from weft.functional.arithmetic import add as add
from weft.functional.arithmetic import add_ as add_
from weft.functional.linear_algebra import addbmm as addbmm
from weft.functional.linear_algebra import addbmm as addbmm_
from weft.functional.elementwise import addcdiv as addcdiv
from weft.functional.elementwise import addcdiv as addcdiv_
from weft.functional.linear_algebra import addmm as addmm
from weft.functional.linear_algebra import addmm as addmm_
from weft.functional.linear_algebra import addmv as addmv
from weft.functional.linear_algebra import addmv as addmv_
from weft.functional.linear_algebra import addr as addr
from weft.functional.linear_algebra import addr as addr_
from weft.functional.shaping import adjoint as adjoint
from weft.functional.copies import alias_copy as alias_copy
from weft.functional.elementwise import allclose as allclose
from weft.functional.reductions import aminmax as aminmax
from weft.functional.real_numbers import angle as angle
from weft.functional.creation import arange as arange
from weft.functional.elementwise import atanh as arctanh
from weft.functional.selection import argsort as argsort
from weft.functional.selection import argwhere as argwhere
from weft.functional.shaping import as_strided as as_strided
from weft.functional.copies import as_strided_copy as as_strided_copy
from weft.functional.shaping import as_strided_scatter as as_strided_scatter
from weft._tensor import as_tensor as as_tensor
from weft._tensor import asarray as asarray
from weft.functional.elementwise import atanh as atanh
from weft.functional.elementwise import atanh as atanh_
from weft.functional.joining import atleast_1d as atleast_1d
from weft.functional.joining import atleast_2d as atleast_2d
from weft.functional.joining import atleast_3d as atleast_3d
from weft import autograd as autograd
from weft.functional.linear_algebra import baddbmm as baddbmm
from weft.functional.linear_algebra import baddbmm as baddbmm_
from weft import batching as batching
from weft.functional.linear_algebra import bilinear as bilinear
from weft.functional.counting import bincount as bincount
from weft.functional.joining import block_diag as block_diag
from weft.functional.checks import broadcast_shapes as broadcast_shapes
from weft.functional.joining import broadcast_tensors as broadcast_tensors
from weft.functional.shaping import broadcast_to as broadcast_to
from weft.functional.counting import bucketize as bucketize
from weft.functional.facts import can_cast as can_cast
from weft.functional.joining import cartesian_prod as cartesian_prod
from weft.functional.linear_algebra import cdist as cdist
from weft.batching.cells import cell as cell
from weft.functional.activations import celu as celu
from weft.functional.activations import celu as celu_
from weft.functional.linalg_aliases import chain_matmul as chain_matmul
from weft.functional.linalg_aliases import cholesky as cholesky
from weft.functional.linalg_aliases import cholesky_inverse as cholesky_inverse
from weft.functional.linalg_aliases import cholesky_solve as cholesky_solve
from weft.functional.joining import column_stack as column_stack
from weft.functional.joining import combinations as combinations
from weft.compiling.compiled import compile as compile
from weft.functional.real_numbers import conj as conj
from weft.functional.real_numbers import conj_physical as conj_physical
from weft.functional.convolution import conv1d as conv1d
from weft.functional.convolution import conv2d as conv2d
from weft.functional.volumes import conv3d as conv3d
from weft.functional.convolution import conv_transpose1d as conv_transpose1d
from weft.functional.convolution import conv_transpose2d as conv_transpose2d
from weft.functional.volumes import conv_transpose3d as conv_transpose3d
from weft.functional.statistics import corrcoef as corrcoef
from weft.functional.linear_algebra import cosine_similarity as cosine_similarity
from weft.functional.reductions import count_nonzero as count_nonzero
from weft.functional.statistics import cov as cov
from weft.functional.linear_algebra import cross as cross
from weft.functional.losses import cross_entropy as cross_entropy
from weft.functional.reductions import cummax as cummax
from weft.functional.reductions import cummin as cummin
from weft.functional.statistics import cumulative_trapezoid as cumulative_trapezoid
from weft._core import default_generator as default_generator
from weft.functional.elementwise import deg2rad as deg2rad
from weft.functional.elementwise import deg2rad as deg2rad_
from weft.functional.linalg_aliases import det as det
from weft.functional.copies import detach_copy as detach_copy
from weft._tensor import device as device
from weft.functional.shaping import diag as diag
from weft.functional.shaping import diag_embed as diag_embed
from weft.functional.statistics import diagflat as diagflat
from weft.functional.shaping import diagonal as diagonal
from weft.functional.copies import diagonal_copy as diagonal_copy
from weft.functional.shaping import diagonal_scatter as diagonal_scatter
from weft.viewer.diff import diff as diff
from weft.functional.linear_algebra import dist as dist
from weft.functional.arithmetic import div as div
from weft.functional.arithmetic import div_ as div_
from weft.functional.arithmetic import div as divide
from weft.functional.joining import dsplit as dsplit
from weft.functional.joining import dstack as dstack
from weft._core import dtype as dtype
from weft.functional.einstein import einsum as einsum
from weft.functional.creation import empty as empty
from weft.functional.creation import empty_like as empty_like
from weft.autograd.grad_mode import enable_grad as enable_grad
from weft.functional.arithmetic import equal as equal
from weft.functional.elementwise import exp2 as exp2
from weft.functional.elementwise import exp2 as exp2_
from weft.functional.copies import expand_copy as expand_copy
from weft.batching.explaining import explain as explain
from weft.functional.creation import eye as eye
from weft.functional.facts import finfo as finfo
from weft.functional.shaping import flatten as flatten
from weft.functional.shaping import fliplr as fliplr
from weft.functional.shaping import flipud as flipud
from weft.functional.arithmetic import float_power as float_power
from weft.functional.elementwise import fmax as fmax
from weft.functional.elementwise import fmin as fmin
from weft.functional.elementwise import frac as frac
from weft.functional.elementwise import frac as frac_
from weft._tensor import from_dlpack as from_dlpack
from weft._tensor import from_numpy as from_numpy
from weft.functional.creation import full as full
from weft.functional.creation import full_like as full_like
from weft import functional as functional
from weft.functional.linear_algebra import outer as ger
from weft._core import get_default_dtype as get_default_dtype
from weft._core import get_num_threads as get_num_threads
from weft.random import get_rng_state as get_rng_state
from weft.functional.arithmetic import glu as glu
from weft.functional.statistics import gradient as gradient
from weft.viewer.api import graph as graph
from weft.functional.grids import grid_sampler as grid_sampler
from weft.functional.grids import grid_sampler_2d as grid_sampler_2d
from weft.functional.grids import grid_sampler_3d as grid_sampler_3d
from weft.functional.normalization import group_norm as group_norm
from weft.functional.activations import hardshrink as hardshrink
from weft.functional.activations import hardshrink as hardshrink_
from weft.functional.activations import hardsigmoid as hardsigmoid
from weft.functional.activations import hardsigmoid as hardsigmoid_
from weft.functional.activations import hardswish as hardswish
from weft.functional.activations import hardswish as hardswish_
from weft.functional.elementwise import heaviside as heaviside
from weft.functional.elementwise import heaviside as heaviside_
from weft.functional.counting import histc as histc
from weft.functional.counting import histogram as histogram
from weft.functional.counting import histogramdd as histogramdd
from weft.functional.joining import hsplit as hsplit
from weft.functional.joining import hstack as hstack
from weft.functional.facts import iinfo as iinfo
from weft.functional.selection import index_add as index_add
from weft.functional.selection import index_add as index_add_
from weft.functional.selection import index_copy as index_copy
from weft.functional.selection import index_copy as index_copy_
from weft.functional.selection import index_fill as index_fill
from weft.functional.selection import index_fill as index_fill_
from weft.functional.selection import index_put as index_put
from weft.functional.selection import index_put_ as index_put_
from weft.functional.selection import index_reduce as index_reduce
from weft.functional.selection import index_reduce as index_reduce_
from weft.autograd.grad_mode import inference_mode as inference_mode
from weft.random import initial_seed as initial_seed
from weft.functional.linear_algebra import inner as inner
from weft.functional.linalg_aliases import inverse as inverse
from weft.functional.facts import is_complex as is_complex
from weft.functional.real_numbers import is_conj as is_conj
from weft.functional.facts import is_floating_point as is_floating_point
from weft._core import is_grad_enabled as is_grad_enabled
from weft._core import is_inference_mode_enabled as is_inference_mode_enabled
from weft.functional.real_numbers import is_neg as is_neg
from weft.functional.facts import is_nonzero as is_nonzero
from weft.functional.facts import is_tensor as is_tensor
from weft.functional.elementwise import isclose as isclose
from weft.functional.counting import isin as isin
from weft.functional.elementwise import isneginf as isneginf
from weft.functional.elementwise import isposinf as isposinf
from weft.functional.arithmetic import isreal as isreal
from weft.functional.linear_algebra import kron as kron
from weft.functional.selection import kthvalue as kthvalue
from weft.batching.scope import lazy as lazy
from weft.functional.elementwise import lcm as lcm
from weft.functional.elementwise import lcm as lcm_
from weft.functional.statistics import ldexp as ldexp
from weft.functional import linalg as linalg
from weft.functional.creation import linspace as linspace
from weft.serialization.api import load as load
from weft.functional.elementwise import logaddexp as logaddexp
from weft.functional.elementwise import logaddexp2 as logaddexp2
from weft.functional.reductions import logcumsumexp as logcumsumexp
from weft.functional.linalg_aliases import logdet as logdet
from weft.functional.elementwise import logical_xor as logical_xor
from weft.functional.elementwise import logical_xor as logical_xor_
from weft.functional.elementwise import logit as logit
from weft.functional.elementwise import logit as logit_
from weft.functional.creation import logspace as logspace
from weft.functional.reductions import logsumexp as logsumexp
from weft.functional.linalg_aliases import lu as lu
from weft.functional.linalg_aliases import lu_solve as lu_solve
from weft.functional.linalg_aliases import lu_unpack as lu_unpack
from weft.random import manual_seed as manual_seed
from weft.batching.mapping import map as map
from weft.functional import masked as masked
from weft.functional.selection import masked_scatter as masked_scatter
from weft.functional.selection import masked_scatter as masked_scatter_
from weft.functional.selection import masked_select as masked_select
from weft.functional.linalg_aliases import matrix_exp as matrix_exp
from weft.functional.linalg_aliases import matrix_power as matrix_power
from weft.functional.reductions import max as max
from weft.functional.reductions import median as median
from weft.viewer.api import merge as merge
from weft.functional.joining import meshgrid as meshgrid
from weft.functional.reductions import min as min
from weft.functional.activations import mish as mish
from weft.functional.activations import mish as mish_
from weft.functional.reductions import mode as mode
from weft.functional.shaping import movedim as moveaxis
from weft.functional.shaping import movedim as movedim
from weft.functional.selection import msort as msort
from weft.functional.statistics import mvlgamma as mvlgamma
from weft.functional.elementwise import nan_to_num as nan_to_num
from weft.functional.elementwise import nan_to_num as nan_to_num_
from weft.functional.reductions import nanmean as nanmean
from weft.functional.reductions import nanmedian as nanmedian
from weft.functional.statistics import nanquantile as nanquantile
from weft.functional.reductions import nansum as nansum
from weft.functional.shaping import narrow as narrow
from weft.functional.copies import narrow_copy as narrow_copy
from weft.functional.normalization import native_group_norm as native_group_norm
from weft.functional.normalization import native_layer_norm as native_layer_norm
from weft.functional.losses import nll_loss as nll_loss
from weft import nn as nn
from weft.autograd.grad_mode import no_grad as no_grad
from weft.functional.selection import nonzero as nonzero
from weft.functional.linear_algebra import norm as norm
from weft.functional.creation import normal as normal
from weft.functional.facts import numel as numel
from weft.functional.selection import one_hot as one_hot
from weft.functional.creation import ones as ones
from weft.functional.creation import ones_like as ones_like
from weft import optim as optim
from weft.functional.linalg_aliases import orgqr as orgqr
from weft.functional.linalg_aliases import ormqr as ormqr
from weft.functional.linear_algebra import outer as outer
from weft.functional.shaping import pad as pad
from weft.functional.linear_algebra import pairwise_distance as pairwise_distance
from weft.functional.copies import permute_copy as permute_copy
from weft.functional.linalg_aliases import pinverse as pinverse
from weft.functional.creation import poisson as poisson
from weft.functional.arithmetic import positive as positive
from weft.functional.reductions import prod as prod
from weft._core import promote_types as promote_types
from weft.functional.statistics import put as put
from weft import pytree as pytree
from weft.functional.linalg_aliases import qr as qr
from weft.functional.reductions import quantile as quantile
from weft.functional.elementwise import rad2deg as rad2deg
from weft.functional.elementwise import rad2deg as rad2deg_
from weft.functional.creation import rand as rand
from weft.functional.creation import rand_like as rand_like
from weft.functional.creation import randint as randint
from weft.functional.creation import randint_like as randint_like
from weft.functional.creation import randn as randn
from weft.functional.creation import randn_like as randn_like
from weft import random as random
from weft.functional.creation import randperm as randperm
from weft.functional.shaping import ravel as ravel
from weft.functional.real_numbers import real as real
from weft.functional.activations import relu6 as relu6
from weft.functional.activations import relu6 as relu6_
from weft.functional.statistics import renorm as renorm
from weft.functional.shaping import repeat as repeat
from weft.functional.selection import repeat_interleave as repeat_interleave
from weft.functional.real_numbers import resolve_conj as resolve_conj
from weft.functional.real_numbers import resolve_neg as resolve_neg
from weft.functional.facts import result_type as result_type
from weft.functional import return_types as return_types
from weft.functional.normalization import rms_norm as rms_norm
from weft.functional.shaping import roll as roll
from weft.functional.shaping import rot90 as rot90
from weft.functional.elementwise import round as round
from weft.functional.elementwise import round as round_
from weft.functional.joining import vstack as row_stack
from weft.functional.arithmetic import rsub as rsub
from weft.serialization.api import save as save
from weft.functional.creation import scalar_tensor as scalar_tensor
from weft.functional.selection import scatter as scatter
from weft.functional.selection import scatter_ as scatter_
from weft.functional.selection import scatter_add as scatter_add
from weft.functional.selection import scatter_add_ as scatter_add_
from weft.functional.selection import scatter_reduce as scatter_reduce
from weft.functional.selection import scatter_reduce as scatter_reduce_
from weft.functional.counting import searchsorted as searchsorted
from weft.random import seed as seed
from weft.functional.copies import select_copy as select_copy
from weft.functional.shaping import select_scatter as select_scatter
from weft.functional.activations import selu as selu
from weft.functional.activations import selu as selu_
from weft._core import set_default_dtype as set_default_dtype
from weft.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from weft._core import set_num_threads as set_num_threads
from weft._printing import set_printoptions as set_printoptions
from weft.random import set_rng_state as set_rng_state
from weft.functional.elementwise import sgn as sgn
from weft.functional.elementwise import sgn as sgn_
from weft.functional import signal as signal
from weft.functional.elementwise import signbit as signbit
from weft.functional.elementwise import sinc as sinc
from weft.functional.elementwise import sinc as sinc_
from weft.functional.copies import slice_copy as slice_copy
from weft.functional.shaping import slice_scatter as slice_scatter
from weft.functional.linalg_aliases import slogdet as slogdet
from weft.functional.activations import softshrink as softshrink
from weft.functional.activations import softshrink as softshrink_
from weft.functional.activations import softsign as softsign
from weft.functional.activations import softsign as softsign_
from weft.functional.selection import sort as sort
from weft.functional import special as special
from weft.functional.joining import split as split
from weft.functional.copies import split_copy as split_copy
from weft.functional.copies import split_with_sizes_copy as split_with_sizes_copy
from weft.functional.copies import squeeze_copy as squeeze_copy
from weft.functional.reductions import std as std
from weft.functional.reductions import std_mean as std_mean
from weft.functional.arithmetic import sub as sub
from weft.functional.arithmetic import sub_ as sub_
from weft.functional.arithmetic import sub as subtract
from weft.functional.statistics import sum_to_size as sum_to_size
from weft.functional.linalg_aliases import svd as svd
from weft.functional.copies import t_copy as t_copy
from weft.functional.selection import take as take
from weft.functional.selection import take_along_dim as take_along_dim
from weft.functional.elementwise import tan as tan
from weft.functional.elementwise import tan as tan_
from weft.functional.activations import tanhshrink as tanhshrink
from weft.functional.activations import tanhshrink as tanhshrink_
from weft._tensor import tensor as tensor
from weft.functional.joining import tensor_split as tensor_split
from weft.functional.linear_algebra import tensordot as tensordot
from weft.functional.activations import threshold as threshold
from weft.functional.activations import threshold as threshold_
from weft.functional.shaping import tile as tile
from weft.functional.selection import topk as topk
from weft.functional.reductions import trace as trace
from weft.functional.copies import transpose_copy as transpose_copy
from weft.functional.statistics import trapezoid as trapezoid
from weft.functional.statistics import trapz as trapz
from weft.functional.linalg_aliases import triangular_solve as triangular_solve
from weft.functional.shaping import tril as tril
from weft.functional.shaping import tril as tril_
from weft.functional.shaping import tril_indices as tril_indices
from weft.functional.shaping import triu as triu
from weft.functional.shaping import triu as triu_
from weft.functional.shaping import triu_indices as triu_indices
from weft.functional.arithmetic import div as true_divide
from weft.functional.copies import unbind_copy as unbind_copy
from weft.functional.shaping import unflatten as unflatten
from weft.functional.shaping import unfold as unfold
from weft.functional.copies import unfold_copy as unfold_copy
from weft.functional.counting import unique as unique
from weft.functional.counting import unique_consecutive as unique_consecutive
from weft.functional.statistics import unravel_index as unravel_index
from weft.functional.copies import unsafe_chunk as unsafe_chunk
from weft.functional.copies import unsafe_split as unsafe_split
from weft.functional.copies import unsafe_split_with_sizes as unsafe_split_with_sizes
from weft.functional.copies import unsqueeze_copy as unsqueeze_copy
from weft import utils as utils
from weft.functional.linalg_aliases import vander as vander
from weft.functional.reductions import var as var
from weft.functional.reductions import var_mean as var_mean
from weft.functional.linear_algebra import vdot as vdot
from weft.functional.reductions import vector_norm as vector_norm
from weft.functional.copies import view_copy as view_copy
from weft._vmap import vmap as vmap
from weft.functional.joining import vsplit as vsplit
from weft.functional.joining import vstack as vstack
from weft.functional.selection import where as where
from weft.functional.creation import zeros as zeros
from weft.functional.creation import zeros_like as zeros_like
from weft import debug as debug
from weft import distributions as distributions
from weft import serialization as serialization
from weft import tracing as tracing

__all__ = [
    "ArgumentError",
    "DTypeError",
    "Generator",
    "GradientError",
    "InternalError",
    "LinAlgError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "ShapeError",
    "Size",
    "Tensor",
    "UnsupportedError",
    "abs",
    "abs_",
    "absolute",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "add",
    "add_",
    "addbmm",
    "addbmm_",
    "addcdiv",
    "addcdiv_",
    "addcmul",
    "addcmul_",
    "addmm",
    "addmm_",
    "addmv",
    "addmv_",
    "addr",
    "addr_",
    "adjoint",
    "alias",
    "alias_copy",
    "all",
    "all_",
    "allclose",
    "amax",
    "amax_",
    "amin",
    "amin_",
    "aminmax",
    "angle",
    "any",
    "any_",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmax_",
    "argmin",
    "argmin_",
    "argsort",
    "argwhere",
    "as_strided",
    "as_strided_copy",
    "as_strided_scatter",
    "as_tensor",
    "asarray",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "atan",
    "atan2",
    "atan2_",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autograd",
    "baddbmm",
    "baddbmm_",
    "batched_matmul",
    "batched_matmul_",
    "batching",
    "bernoulli",
    "bernoulli_",
    "bfloat16",
    "bilinear",
    "bincount",
    "bitwise_and",
    "bitwise_and_",
    "bitwise_left_shift",
    "bitwise_left_shift_",
    "bitwise_not",
    "bitwise_not_",
    "bitwise_or",
    "bitwise_or_",
    "bitwise_right_shift",
    "bitwise_right_shift_",
    "bitwise_xor",
    "bitwise_xor_",
    "block_diag",
    "bmm",
    "bmm_",
    "bool",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cast",
    "cast_",
    "cat",
    "cdist",
    "ceil",
    "ceil_",
    "cell",
    "celu",
    "celu_",
    "chain_matmul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clamp_range",
    "clamp_range_",
    "clip",
    "clone",
    "clone_",
    "column_stack",
    "combinations",
    "compile",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "contiguous",
    "contiguous_",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "convolution_",
    "convolution_transpose",
    "convolution_transpose_",
    "convolution_weight",
    "convolution_weight_",
    "copy",
    "copy_",
    "copysign",
    "copysign_",
    "corrcoef",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "cross_entropy",
    "cross_entropy_backward",
    "cross_entropy_classes",
    "cummax",
    "cummin",
    "cumprod",
    "cumprod_",
    "cumsum",
    "cumsum_",
    "cumulative_trapezoid",
    "default_generator",
    "deg2rad",
    "deg2rad_",
    "det",
    "detach_copy",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "diff",
    "digamma",
    "digamma_",
    "dist",
    "div",
    "div_",
    "div_floor",
    "div_floor_",
    "div_trunc",
    "div_trunc_",
    "divide",
    "dot",
    "dot_",
    "double",
    "dropout",
    "dropout_",
    "dropout_by_counter",
    "dropout_by_counter_",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "einsum",
    "elu",
    "elu_",
    "embedding",
    "empty",
    "empty_like",
    "enable_grad",
    "eq",
    "eq_",
    "equal",
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "erfinv",
    "erfinv_",
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expand",
    "expand_copy",
    "explain",
    "expm1",
    "expm1_",
    "eye",
    "fill",
    "fill_",
    "finfo",
    "fix",
    "flatten",
    "flip",
    "flip_",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_",
    "floor_divide",
    "floor_divide_",
    "fmax",
    "fmin",
    "fmod",
    "fmod_",
    "frac",
    "frac_",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "functional",
    "gather",
    "gather_",
    "gaussian",
    "gaussian_",
    "gcd",
    "gcd_",
    "ge",
    "ge_",
    "gelu",
    "gelu_",
    "gelu_erf",
    "gelu_erf_",
    "gelu_erf_slope",
    "gelu_erf_slope_",
    "gelu_tanh",
    "gelu_tanh_",
    "ger",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "glu",
    "gradient",
    "graph",
    "greater",
    "greater_equal",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "gru_gates",
    "gru_gates_backward",
    "gt",
    "gt_",
    "half",
    "hardshrink",
    "hardshrink_",
    "hardsigmoid",
    "hardsigmoid_",
    "hardswish",
    "hardswish_",
    "hardtanh",
    "hardtanh_",
    "heaviside",
    "heaviside_",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "hypot_",
    "i0",
    "i0_",
    "igamma",
    "igamma_",
    "igammac",
    "igammac_",
    "iinfo",
    "index",
    "index_",
    "index_add",
    "index_add_",
    "index_backward",
    "index_copy",
    "index_copy_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_reduce_",
    "index_select",
    "index_select_",
    "inf",
    "inference_mode",
    "initial_seed",
    "inner",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_neg",
    "is_nonzero",
    "is_tensor",
    "isclose",
    "isfinite",
    "isfinite_",
    "isin",
    "isinf",
    "isinf_",
    "isnan",
    "isnan_",
    "isneginf",
    "isposinf",
    "isreal",
    "kron",
    "kthvalue",
    "layer_norm",
    "layer_norm_",
    "layer_norm_backward",
    "lazy",
    "lcm",
    "lcm_",
    "ldexp",
    "le",
    "le_",
    "leaky_relu",
    "leaky_relu_",
    "lerp",
    "lerp_",
    "less",
    "less_equal",
    "lgamma",
    "lgamma_",
    "linalg",
    "linalg_cholesky_ex",
    "linalg_eigh",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_solve_ex",
    "linalg_solve_triangular",
    "linalg_svd",
    "linear",
    "linear_",
    "linspace",
    "load",
    "log",
    "log10",
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
    "log_softmax",
    "log_softmax_",
    "log_softmax_backward",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_and_",
    "logical_not",
    "logical_not_",
    "logical_or",
    "logical_or_",
    "logical_xor",
    "logical_xor_",
    "logit",
    "logit_",
    "logsigmoid",
    "logsigmoid_",
    "logspace",
    "logsumexp",
    "long",
    "lstm_gates",
    "lstm_gates_backward",
    "lt",
    "lt_",
    "lu",
    "lu_permutation",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "map",
    "masked",
    "masked_fill",
    "masked_fill_",
    "masked_scatter",
    "masked_scatter_",
    "masked_select",
    "matmul",
    "matmul_",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_all",
    "max_all_",
    "max_dim",
    "maximum",
    "maximum_",
    "mean",
    "mean_",
    "median",
    "merge",
    "meshgrid",
    "min",
    "min_all",
    "min_all_",
    "min_dim",
    "minimum",
    "minimum_",
    "mish",
    "mish_",
    "mm",
    "mm_",
    "mode",
    "moveaxis",
    "movedim",
    "msort",
    "mul",
    "mul_",
    "multinomial",
    "multinomial_",
    "multiply",
    "mv",
    "mv_",
    "mvlgamma",
    "nan",
    "nan_to_num",
    "nan_to_num_",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "native_group_norm",
    "native_layer_norm",
    "ne",
    "ne_",
    "neg",
    "neg_",
    "negative",
    "newaxis",
    "nll_loss",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "one_hot",
    "ones",
    "ones_like",
    "optim",
    "orgqr",
    "ormqr",
    "outer",
    "outer_sum",
    "outer_sum_",
    "pad",
    "pairwise_distance",
    "permutation",
    "permute",
    "permute_copy",
    "pi",
    "pinv_of",
    "pinverse",
    "poisson",
    "polygamma",
    "positive",
    "pow",
    "pow_",
    "prod",
    "prod_",
    "promote_types",
    "put",
    "pytree",
    "qr",
    "quantile",
    "rad2deg",
    "rad2deg_",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "ravel",
    "real",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu6",
    "relu6_",
    "relu_",
    "remainder",
    "remainder_",
    "renorm",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_",
    "resolve_conj",
    "resolve_neg",
    "restride",
    "restride_",
    "result_type",
    "return_types",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "round_",
    "row_stack",
    "rsqrt",
    "rsqrt_",
    "rsub",
    "save",
    "scalar_tensor",
    "scatter",
    "scatter_",
    "scatter_add",
    "scatter_add_",
    "scatter_combine",
    "scatter_combine_",
    "scatter_reduce",
    "scatter_reduce_",
    "searchsorted",
    "seed",
    "select",
    "select_copy",
    "select_scatter",
    "selu",
    "selu_",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "sgn",
    "sgn_",
    "short",
    "sigmoid",
    "sigmoid_",
    "sigmoid_backward",
    "sign",
    "sign_",
    "signal",
    "signbit",
    "silu",
    "silu_",
    "sin",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice",
    "slice_copy",
    "slice_scatter",
    "slogdet",
    "softmax",
    "softmax_",
    "softmax_backward",
    "softplus",
    "softplus_",
    "softshrink",
    "softshrink_",
    "softsign",
    "softsign_",
    "sort",
    "special",
    "special_airy_ai",
    "special_bessel_j0",
    "special_bessel_j0_",
    "special_bessel_j1",
    "special_bessel_j1_",
    "special_bessel_y0",
    "special_bessel_y0_",
    "special_bessel_y1",
    "special_bessel_y1_",
    "special_erfcx",
    "special_erfcx_",
    "special_i0e",
    "special_i0e_",
    "special_i1",
    "special_i1_",
    "special_i1e",
    "special_i1e_",
    "special_log_ndtr",
    "special_log_ndtr_",
    "special_modified_bessel_k0",
    "special_modified_bessel_k0_",
    "special_modified_bessel_k1",
    "special_modified_bessel_k1_",
    "special_ndtri",
    "special_ndtri_",
    "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k0_",
    "special_scaled_modified_bessel_k1",
    "special_scaled_modified_bessel_k1_",
    "special_zeta",
    "special_zeta_",
    "split",
    "split_copy",
    "split_with_sizes",
    "split_with_sizes_copy",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "squeeze_copy",
    "stack",
    "std",
    "std_mean",
    "strided_view",
    "sub",
    "sub_",
    "subtract",
    "sum",
    "sum_",
    "sum_to_size",
    "svd",
    "swapaxes",
    "swapdims",
    "t",
    "t_copy",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tanh_backward",
    "tanhshrink",
    "tanhshrink_",
    "tensor",
    "tensor_split",
    "tensordot",
    "threshold",
    "threshold_",
    "tile",
    "topk",
    "trace",
    "transpose",
    "transpose_copy",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_",
    "tril_indices",
    "triu",
    "triu_",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "uint8",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold",
    "unfold_copy",
    "uniform",
    "uniform_",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "utils",
    "vander",
    "var",
    "var_",
    "var_mean",
    "vdot",
    "vector_norm",
    "view",
    "view_copy",
    "view_dtype",
    "vmap",
    "vsplit",
    "vstack",
    "where",
    "xlogy",
    "xlogy_",
    "zero",
    "zero_",
    "zeros",
    "zeros_like",
    "zeros_like_",
]

__version__: str
bfloat16: dtype
bool: dtype
double: dtype
e: _float
float: dtype
float16: dtype
float32: dtype
float64: dtype
half: dtype
inf: _float
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
long: dtype
nan: _float
newaxis: None
pi: _float
short: dtype
uint8: dtype

def abs(input: Tensor) -> Tensor:
    """Returns the absolute value of each element.

    Example:
        >>> weft.abs(weft.tensor([-2.0, 0.0, 3.0]))
        tensor([2., 0., 3.])
    """
def abs_(input: Tensor) -> Tensor:
    """Write the result of abs over input and return it."""
def absolute(input: Tensor) -> Tensor:
    """Returns the absolute value of each element.

    Example:
        >>> weft.abs(weft.tensor([-2.0, 0.0, 3.0]))
        tensor([2., 0., 3.])
    """
def acos(input: Tensor) -> Tensor:
    """Returns the angle whose cosine each element is.

    Example:
        >>> weft.acos(weft.tensor([1.0, 0.0, -1.0]))
        tensor([0.0000, 1.5708, 3.1416])
    """
def acos_(input: Tensor) -> Tensor:
    """Write the result of acos over input and return it."""
def acosh(input: Tensor) -> Tensor:
    """Returns the number whose hyperbolic cosine each element is.

    Example:
        >>> weft.acosh(weft.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
    """
def acosh_(input: Tensor) -> Tensor:
    """Write the result of acosh over input and return it."""
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | _Number = 1,
) -> Tensor:
    """Computes input + value * tensor1 * tensor2.

    Example:
        >>> weft.addcmul(weft.tensor([1.0]), weft.tensor([2.0]), weft.tensor([3.0]), value=10)
        tensor([61.])
    """
def addcmul_(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | _Number = 1,
) -> Tensor:
    """Write the result of addcmul over input and return it."""
def alias(input: Tensor) -> Tensor:
    """Returns a view of the whole tensor.

    Example:
        >>> x = weft.zeros(2)
        >>> weft.alias(x).data_ptr() == x.data_ptr()
        True
    """
def all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Tells whether all elements are not zero, over all dimensions or those in `dim`.

    Example:
        >>> weft.all(weft.tensor([[True, False], [True, True]]), dim=1)
        tensor([False,  True])
    """
def all_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of all over input and return it."""
def amax(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Returns the largest element, over all dimensions or those in `dim`.

    NaN wins. Equal elements share the gradient evenly.

    Example:
        >>> weft.amax(weft.tensor([[1, 5], [7, 2]]), dim=1)
        tensor([5, 7])
    """
def amax_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of amax over input and return it."""
def amin(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Returns the smallest element, over all dimensions or those in `dim`.

    NaN wins. Equal elements share the gradient evenly.

    Example:
        >>> weft.amin(weft.tensor([[1, 5], [7, 2]]), dim=1, keepdim=True)
        tensor([[1],
                [2]])
    """
def amin_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of amin over input and return it."""
def any(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Tells whether any element is not zero, over all dimensions or those in `dim`.

    Example:
        >>> weft.any(weft.tensor([[True, False], [False, False]]), dim=1)
        tensor([ True, False])
    """
def any_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of any over input and return it."""
def arccos(input: Tensor) -> Tensor:
    """Returns the angle whose cosine each element is.

    Example:
        >>> weft.acos(weft.tensor([1.0, 0.0, -1.0]))
        tensor([0.0000, 1.5708, 3.1416])
    """
def arccosh(input: Tensor) -> Tensor:
    """Returns the number whose hyperbolic cosine each element is.

    Example:
        >>> weft.acosh(weft.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
    """
def arcsin(input: Tensor) -> Tensor:
    """Returns the angle whose sine each element is.

    Example:
        >>> weft.asin(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
    """
def arcsinh(input: Tensor) -> Tensor:
    """Returns the number whose hyperbolic sine each element is.

    Example:
        >>> weft.asinh(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
    """
def arctan(input: Tensor) -> Tensor:
    """Returns the angle whose tangent each element is.

    Example:
        >>> weft.atan(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
    """
def arctan2(input: Tensor, other: Tensor) -> Tensor:
    """Returns the angle of the point (other, input), from -pi to pi.

    Example:
        >>> weft.atan2(weft.tensor([1.0, -1.0]), weft.tensor([-1.0, -1.0]))  # y first, then x
        tensor([ 2.3562, -2.3562])
    """
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
    """Returns the first position of the largest element, in the flattened tensor or along `dim`.

    Example:
        >>> x = weft.tensor([[1, 5], [7, 2]])
        >>> weft.argmax(x)
        tensor(2)
        >>> weft.argmax(x, dim=1)
        tensor([1, 0])
    """
def argmax_(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
    """Write the result of argmax over input and return it."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
    """Returns the first position of the smallest element, in the flattened tensor or along `dim`.

    Example:
        >>> weft.argmin(weft.tensor([[1, 5], [7, 2]]), dim=0)
        tensor([0, 1])
    """
def argmin_(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
    """Write the result of argmin over input and return it."""
def asin(input: Tensor) -> Tensor:
    """Returns the angle whose sine each element is.

    Example:
        >>> weft.asin(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
    """
def asin_(input: Tensor) -> Tensor:
    """Write the result of asin over input and return it."""
def asinh(input: Tensor) -> Tensor:
    """Returns the number whose hyperbolic sine each element is.

    Example:
        >>> weft.asinh(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
    """
def asinh_(input: Tensor) -> Tensor:
    """Write the result of asinh over input and return it."""
def atan(input: Tensor) -> Tensor:
    """Returns the angle whose tangent each element is.

    Example:
        >>> weft.atan(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
    """
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Returns the angle of the point (other, input), from -pi to pi.

    Example:
        >>> weft.atan2(weft.tensor([1.0, -1.0]), weft.tensor([-1.0, -1.0]))  # y first, then x
        tensor([ 2.3562, -2.3562])
    """
def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of atan2 over input and return it."""
def atan_(input: Tensor) -> Tensor:
    """Write the result of atan over input and return it."""
def batched_matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiplies matrices in the last two dimensions; the dimensions before them broadcast.

    Example:
        >>> weft.batched_matmul(weft.ones(4, 2, 3), weft.ones(4, 3, 5)).shape
        weft.Size([4, 2, 5])
    """
def batched_matmul_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of batched_matmul over input and return it."""
def bernoulli(
    input: Tensor,
    p: _float | None = None,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Draws 1 with the probability that each element of input says, otherwise 0.

    With p, input gives only shape and dtype.

    Example:
        >>> weft.bernoulli(weft.tensor([0.0, 1.0]))  # probabilities of a one
        tensor([0., 1.])
    """
def bernoulli_(
    input: Tensor,
    p: _float | None = None,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Write the result of bernoulli over input and return it."""
def bitwise_and(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Combines the bits of two integers by and; for bool it is logical and.

    Example:
        >>> weft.bitwise_and(weft.tensor([12, 10]), 6)
        tensor([4, 2])
    """
def bitwise_and_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of bitwise_and over input and return it."""
def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Shifts bits to the left by other places.

    A shift by more bits than there are gives 0.

    Example:
        >>> weft.bitwise_left_shift(weft.tensor([1, 3]), 2)
        tensor([ 4, 12])
    """
def bitwise_left_shift_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of bitwise_left_shift over input and return it."""
def bitwise_not(input: Tensor) -> Tensor:
    """Turns every bit of an integer; for bool it is logical not.

    Example:
        >>> weft.bitwise_not(weft.tensor([0, 5]))
        tensor([-1, -6])
        >>> ~weft.tensor([True, False])
        tensor([False,  True])
    """
def bitwise_not_(input: Tensor) -> Tensor:
    """Write the result of bitwise_not over input and return it."""
def bitwise_or(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Combines the bits of two integers by or; for bool it is logical or.

    Example:
        >>> weft.bitwise_or(weft.tensor([12, 10]), 6)
        tensor([14, 14])
    """
def bitwise_or_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of bitwise_or over input and return it."""
def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Shifts bits to the right by other places; the sign stays.

    Example:
        >>> weft.bitwise_right_shift(weft.tensor([8, 5]), 1)
        tensor([4, 2])
    """
def bitwise_right_shift_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of bitwise_right_shift over input and return it."""
def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Combines the bits of two integers by exclusive or; for bool it is logical xor.

    Example:
        >>> weft.bitwise_xor(weft.tensor([12, 10]), 6)
        tensor([10, 12])
    """
def bitwise_xor_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of bitwise_xor over input and return it."""
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiplies a batch of matrices with another, one by one.

    Example:
        >>> weft.bmm(weft.ones(4, 2, 3), weft.ones(4, 3, 5)).shape
        weft.Size([4, 2, 5])
    """
def bmm_(input: Tensor, mat2: Tensor) -> Tensor:
    """Write the result of bmm over input and return it."""
def cast(input: Tensor, dtype: _dtype) -> Tensor:
    """Copies a tensor into another dtype.

    Floats lose their fraction on the way to integers, which keep their low bits when they are
    too large.

    Example:
        >>> weft.cast(weft.tensor([1.7, -1.7]), weft.int64)
        tensor([ 1, -1])
    """
def cast_(input: Tensor, dtype: _dtype) -> Tensor:
    """Write the result of cast over input and return it."""
def cat(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Joins tensors along an existing dimension.

    All other sizes must agree; tensors of shape (0,) are skipped.

    Example:
        >>> x = weft.zeros(2, 3)
        >>> weft.cat([x, x]).shape
        weft.Size([4, 3])
        >>> weft.cat([x, x], dim=1).shape
        weft.Size([2, 6])
    """
def ceil(input: Tensor) -> Tensor:
    """Rounds each element up.

    Example:
        >>> weft.ceil(weft.tensor([1.2, -1.2]))
        tensor([ 2., -1.])
    """
def ceil_(input: Tensor) -> Tensor:
    """Write the result of ceil over input and return it."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cuts a dimension into at most `chunks` views of equal size; the last one may be smaller.

    Example:
        >>> weft.chunk(weft.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
) -> Tensor:
    """Limits elements to the range from min to max.

    The gradient passes at the bounds.

    Example:
        >>> weft.clamp(weft.tensor([-2.0, 0.5, 2.0]), min=-1, max=1)
        tensor([-1.0000,  0.5000,  1.0000])
    """
def clamp_(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
) -> Tensor:
    """Write the result of clamp over input and return it."""
def clamp_max(input: Tensor, max: Tensor | _Number) -> Tensor:
    """Lowers elements that are above max to max.

    Example:
        >>> weft.clamp_max(weft.tensor([-2.0, 2.0]), 1)
        tensor([-2.,  1.])
    """
def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """Write the result of clamp_max over input and return it."""
def clamp_min(input: Tensor, min: Tensor | _Number) -> Tensor:
    """Raises elements that are below min to min.

    Example:
        >>> weft.clamp_min(weft.tensor([-2.0, 2.0]), 0)
        tensor([0., 2.])
    """
def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """Write the result of clamp_min over input and return it."""
def clamp_range(input: Tensor, min: Tensor | _Number, max: Tensor | _Number) -> Tensor:
    """Limits elements to the range from min to max; max wins where min is larger.

    Example:
        >>> weft.clamp_range(weft.tensor([-2.0, 0.5, 2.0]), -1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
    """
def clamp_range_(input: Tensor, min: Tensor | _Number, max: Tensor | _Number) -> Tensor:
    """Write the result of clamp_range over input and return it."""
def clip(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
) -> Tensor:
    """Limits elements to the range from min to max.

    The gradient passes at the bounds.

    Example:
        >>> weft.clamp(weft.tensor([-2.0, 0.5, 2.0]), min=-1, max=1)
        tensor([-1.0000,  0.5000,  1.0000])
    """
def clone(input: Tensor) -> Tensor:
    """Copies a tensor into memory of its own.

    Example:
        >>> x = weft.zeros(2)
        >>> weft.clone(x).fill_(1)
        tensor([1., 1.])
        >>> x
        tensor([0., 0.])
    """
def clone_(input: Tensor) -> Tensor:
    """Write the result of clone over input and return it."""
def concat(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Joins tensors along an existing dimension.

    All other sizes must agree; tensors of shape (0,) are skipped.

    Example:
        >>> x = weft.zeros(2, 3)
        >>> weft.cat([x, x]).shape
        weft.Size([4, 3])
        >>> weft.cat([x, x], dim=1).shape
        weft.Size([2, 6])
    """
def concatenate(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Joins tensors along an existing dimension.

    All other sizes must agree; tensors of shape (0,) are skipped.

    Example:
        >>> x = weft.zeros(2, 3)
        >>> weft.cat([x, x]).shape
        weft.Size([4, 3])
        >>> weft.cat([x, x], dim=1).shape
        weft.Size([2, 6])
    """
def contiguous(input: Tensor) -> Tensor:
    """Returns the tensor itself if its elements lie in a row, otherwise a copy.

    Example:
        >>> x = weft.zeros(2, 3).t()
        >>> x.is_contiguous(), x.contiguous().is_contiguous()
        (False, True)
    """
def contiguous_(input: Tensor) -> Tensor:
    """Write the result of contiguous over input and return it."""
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = (1,),
    padding: _int | Sequence[_int] = (0,),
    dilation: _int | Sequence[_int] = (1,),
    groups: _int = 1,
) -> Tensor:
    """Slides a kernel over the last one or two dimensions of (N, C, ...): each output is a
    window's products with `weight` (out, C / groups, ...), added up over the window.

    Example:
        >>> weft.convolution(weft.ones(1, 1, 5), weft.ones(1, 1, 3), padding=[1])
        tensor([[[2., 3., 3., 3., 2.]]])
    """
def convolution_(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = (1,),
    padding: _int | Sequence[_int] = (0,),
    dilation: _int | Sequence[_int] = (1,),
    groups: _int = 1,
) -> Tensor:
    """Write the result of convolution over input and return it."""
def convolution_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = (1,),
    padding: _int | Sequence[_int] = (0,),
    output_padding: _int | Sequence[_int] = (0,),
    dilation: _int | Sequence[_int] = (1,),
    groups: _int = 1,
) -> Tensor:
    """Spreads each element of (N, C, ...) over a window, times `weight` (C, out / groups, ...),
    and adds up where windows overlap: the gradient of a convolution's input.

    Example:
        >>> weft.convolution_transpose(weft.ones(1, 1, 2), weft.ones(1, 1, 3), stride=[2])
        tensor([[[1., 1., 2., 1., 1.]]])
    """
def convolution_transpose_(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = (1,),
    padding: _int | Sequence[_int] = (0,),
    output_padding: _int | Sequence[_int] = (0,),
    dilation: _int | Sequence[_int] = (1,),
    groups: _int = 1,
) -> Tensor:
    """Write the result of convolution_transpose over input and return it."""
def convolution_weight(
    input: Tensor,
    grad: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = (1,),
    padding: _int | Sequence[_int] = (0,),
    dilation: _int | Sequence[_int] = (1,),
    groups: _int = 1,
) -> Tensor:
    """Returns the gradient of a convolution's weight from its input and its output's gradient.

    Example:
        >>> weft.convolution_weight(weft.ones(1, 1, 5), weft.ones(1, 1, 3), [3])
        tensor([[[3., 3., 3.]]])
    """
def convolution_weight_(
    input: Tensor,
    grad: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] = (1,),
    padding: _int | Sequence[_int] = (0,),
    dilation: _int | Sequence[_int] = (1,),
    groups: _int = 1,
) -> Tensor:
    """Write the result of convolution_weight over input and return it."""
def copy(input: Tensor, source: Tensor | _Number) -> Tensor:
    """Returns source broadcast to input's shape and cast to its dtype.

    `x.copy_(y)` and `x[i] = y` are its in-place form.

    Example:
        >>> weft.zeros(3).copy_(weft.arange(3))  # the form in place, which is the useful one
        tensor([0., 1., 2.])
    """
def copy_(input: Tensor, source: Tensor | _Number) -> Tensor:
    """Write the result of copy over input and return it."""
def copysign(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Gives each element of input the sign of other.

    Example:
        >>> weft.copysign(weft.tensor([1.0, -2.0]), weft.tensor([-1.0, 1.0]))
        tensor([-1.,  2.])
    """
def copysign_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Write the result of copysign over input and return it."""
def cos(input: Tensor) -> Tensor:
    """Returns the cosine of each element.

    Example:
        >>> weft.cos(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
    """
def cos_(input: Tensor) -> Tensor:
    """Write the result of cos over input and return it."""
def cosh(input: Tensor) -> Tensor:
    """Returns the hyperbolic cosine of each element.

    Example:
        >>> weft.cosh(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
    """
def cosh_(input: Tensor) -> Tensor:
    """Write the result of cosh over input and return it."""
def cross_entropy_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    rows: Tensor,
    ignore_index: _int = -100,
    reduction: str = 'mean',
) -> Tensor:
    """Returns the gradient of the scores of cross_entropy_classes.

    Example:
        >>> x, target = weft.zeros(1, 2), weft.tensor([0])
        >>> rows = weft.cross_entropy_classes(x, target)[1]
        >>> weft.cross_entropy_backward(weft.ones(()), x, target, rows)
        tensor([[-0.5000,  0.5000]])
    """
def cross_entropy_classes(
    input: Tensor,
    target: Tensor,
    ignore_index: _int = -100,
    reduction: str = 'mean',
) -> tuple[Tensor, Tensor]:
    """Returns the cross-entropy of rows of scores (N, C) with classes (N,), and how many rows
    count: those of class `ignore_index` do not.

    Example:
        >>> weft.cross_entropy_classes(weft.zeros(1, 2), weft.tensor([0]))[0]
        tensor(0.6931)
    """
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Returns the running products along a dimension.

    Example:
        >>> weft.cumprod(weft.tensor([1, 2, 3, 4]), dim=0)
        tensor([ 1,  2,  6, 24])
    """
def cumprod_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Write the result of cumprod over input and return it."""
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Returns the running sums along a dimension.

    Example:
        >>> weft.cumsum(weft.tensor([[1, 2], [3, 4]]), dim=1)
        tensor([[1, 3],
                [3, 7]])
    """
def cumsum_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Write the result of cumsum over input and return it."""
def digamma(input: Tensor) -> Tensor:
    """Returns the derivative of lgamma.

    Example:
        >>> weft.digamma(weft.tensor([1.0, 2.0]))
        tensor([-0.5772,  0.4228])
    """
def digamma_(input: Tensor) -> Tensor:
    """Write the result of digamma over input and return it."""
def div_floor(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Divides and rounds down: div with rounding_mode='floor'.

    Example:
        >>> weft.div_floor(weft.tensor([-7, 7]), 2)
        tensor([-4,  3])
    """
def div_floor_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of div_floor over input and return it."""
def div_trunc(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Divides and rounds toward zero: div with rounding_mode='trunc'.

    Example:
        >>> weft.div_trunc(weft.tensor([-7, 7]), 2)
        tensor([-3,  3])
    """
def div_trunc_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of div_trunc over input and return it."""
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Adds up the products of two vectors' elements.

    Example:
        >>> weft.dot(weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
        tensor(11.)
    """
def dot_(input: Tensor, tensor: Tensor) -> Tensor:
    """Write the result of dot over input and return it."""
def dropout(
    input: Tensor,
    p: _float = 0.5,
    training: _bool = True,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Zeroes elements with probability p and divides the others by 1 - p, so that the expected
    value stays.

    Outside of training it only copies.

    Example:
        >>> weft.dropout(weft.ones(3), 0.5, training=False)  # nothing is dropped in evaluation
        tensor([1., 1., 1.])
    """
def dropout_(
    input: Tensor,
    p: _float = 0.5,
    training: _bool = True,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Write the result of dropout over input and return it."""
def dropout_by_counter(
    input: Tensor,
    p: _float = 0.5,
    training: _bool = True,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Drops like dropout, with numbers that the same stretch of a stream gives again.

    Example:
        >>> weft.dropout_by_counter(weft.ones(3), 0.5, training=False)
        tensor([1., 1., 1.])
    """
def dropout_by_counter_(
    input: Tensor,
    p: _float = 0.5,
    training: _bool = True,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Write the result of dropout_by_counter over input and return it."""
def elu(
    input: Tensor,
    alpha: Tensor | _Number = 1.0,
    scale: Tensor | _Number = 1.0,
    input_scale: Tensor | _Number = 1.0,
) -> Tensor:
    """Computes alpha * (exp(input_scale * x) - 1) for negative elements and keeps positive ones;
    scale multiplies both.

    Example:
        >>> weft.elu(weft.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-1.2642,  2.0000])
    """
def elu_(
    input: Tensor,
    alpha: Tensor | _Number = 1.0,
    scale: Tensor | _Number = 1.0,
    input_scale: Tensor | _Number = 1.0,
) -> Tensor:
    """Write the result of elu over input and return it."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1) -> Tensor:
    """Looks up rows of a matrix.

    The row padding_idx, if it is not negative, gets no gradient.

    Example:
        >>> table = weft.tensor([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]])
        >>> weft.embedding(table, weft.tensor([2, 0]))
        tensor([[2.0000, 2.1000],
                [0.0000, 0.1000]])
    """
def eq(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input equals other.

    Example:
        >>> weft.eq(weft.tensor([1, 2, 3]), 2)
        tensor([False,  True, False])
    """
def eq_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of eq over input and return it."""
def erf(input: Tensor) -> Tensor:
    """Returns the error function of each element.

    Example:
        >>> weft.erf(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
    """
def erf_(input: Tensor) -> Tensor:
    """Write the result of erf over input and return it."""
def erfc(input: Tensor) -> Tensor:
    """Computes 1 - erf(input) without losing digits for large elements.

    Example:
        >>> weft.erfc(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
    """
def erfc_(input: Tensor) -> Tensor:
    """Write the result of erfc over input and return it."""
def erfinv(input: Tensor) -> Tensor:
    """Returns the number whose error function each element is.

    Example:
        >>> weft.erfinv(weft.tensor([0.0, 0.5]))
        tensor([0.0000, 0.4769])
    """
def erfinv_(input: Tensor) -> Tensor:
    """Write the result of erfinv over input and return it."""
def exp(input: Tensor) -> Tensor:
    """Raises e to the power of each element.

    Example:
        >>> weft.exp(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
def exp_(input: Tensor) -> Tensor:
    """Write the result of exp over input and return it."""
@overload
def expand(input: Tensor, size: _int | Sequence[_int]) -> Tensor:
    """Stretches dimensions of size 1 without copying.

    A size of -1 keeps a dimension as it is; new dimensions go in front.

    Example:
        >>> weft.tensor([[1], [2]]).expand(-1, 3)  # -1 keeps a size; nothing is copied
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
@overload
def expand(input: Tensor, *size: _int) -> Tensor:
    """Stretches dimensions of size 1 without copying.

    A size of -1 keeps a dimension as it is; new dimensions go in front.

    Example:
        >>> weft.tensor([[1], [2]]).expand(-1, 3)  # -1 keeps a size; nothing is copied
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
def expm1(input: Tensor) -> Tensor:
    """Computes exp(input) - 1 without losing digits near zero.

    Example:
        >>> weft.expm1(weft.tensor([1e-8], dtype=weft.float64))  # exp(x) - 1 would have lost it
        tensor([1.0000e-08], dtype=weft.float64)
    """
def expm1_(input: Tensor) -> Tensor:
    """Write the result of expm1 over input and return it."""
def fill(input: Tensor, value: Tensor | _Number) -> Tensor:
    """Returns a tensor like input with every element equal to value.

    Example:
        >>> weft.fill(weft.zeros(2), 7)
        tensor([7., 7.])
    """
def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """Write the result of fill over input and return it."""
def fix(input: Tensor) -> Tensor:
    """Rounds each element toward zero.

    Example:
        >>> weft.trunc(weft.tensor([1.8, -1.8]))
        tensor([ 1., -1.])
    """
@overload
def flip(input: Tensor, dims: _int | Sequence[_int]) -> Tensor:
    """Returns a copy with the order of indices reversed along dims.

    Example:
        >>> weft.flip(weft.tensor([[1, 2], [3, 4]]), [0, 1])
        tensor([[4, 3],
                [2, 1]])
    """
@overload
def flip(input: Tensor, *dims: _int) -> Tensor:
    """Returns a copy with the order of indices reversed along dims.

    Example:
        >>> weft.flip(weft.tensor([[1, 2], [3, 4]]), [0, 1])
        tensor([[4, 3],
                [2, 1]])
    """
@overload
def flip_(input: Tensor, dims: _int | Sequence[_int]) -> Tensor:
    """Write the result of flip over input and return it."""
@overload
def flip_(input: Tensor, *dims: _int) -> Tensor:
    """Write the result of flip over input and return it."""
def floor(input: Tensor) -> Tensor:
    """Rounds each element down.

    Example:
        >>> weft.floor(weft.tensor([1.8, -1.2]))
        tensor([ 1., -2.])
    """
def floor_(input: Tensor) -> Tensor:
    """Write the result of floor over input and return it."""
def floor_divide(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Divides and rounds down.

    Integers divided by zero give 0.

    Example:
        >>> weft.floor_divide(weft.tensor([-7, 7]), 2)
        tensor([-4,  3])
    """
def floor_divide_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of floor_divide over input and return it."""
def fmod(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Computes C's remainder, which has the sign of input.

    Example:
        >>> weft.fmod(weft.tensor([-7, 7]), 3)  # the sign of the first; see remainder
        tensor([-1,  1])
    """
def fmod_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of fmod over input and return it."""
def gather(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """Picks elements along a dimension: for dim 0, out[i][j] = input[index[i][j]][j].

    Example:
        >>> x = weft.tensor([[1, 2], [3, 4]])
        >>> weft.gather(x, 1, weft.tensor([[1], [0]]))  # one of each row
        tensor([[2],
                [3]])
    """
def gather_(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """Write the result of gather over input and return it."""
def gaussian(
    input: Tensor,
    mean: _float = 0.0,
    std: _float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Draws a tensor like input from a normal distribution.

    Example:
        >>> weft.gaussian(weft.zeros(2), mean=5.0, std=0.0)  # PyTorch's name for it is normal_
        tensor([5., 5.])
    """
def gaussian_(
    input: Tensor,
    mean: _float = 0.0,
    std: _float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Write the result of gaussian over input and return it."""
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Returns the greatest common divisor of two integers.

    Example:
        >>> weft.gcd(weft.tensor([12, 7]), weft.tensor([18, 21]))
        tensor([6, 7])
    """
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of gcd over input and return it."""
def ge(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is greater than or equal to other.

    Example:
        >>> weft.ge(weft.tensor([1, 2, 3]), 2)
        tensor([False,  True,  True])
    """
def ge_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of ge over input and return it."""
def gelu(input: Tensor, *, approximate: str = 'none') -> Tensor:
    """Computes the Gaussian error linear unit, exactly or by its approximation 'tanh'.

    Example:
        >>> x = weft.tensor([-1.0, 0.0, 1.0])
        >>> weft.gelu(x)
        tensor([-0.1587,  0.0000,  0.8413])
        >>> weft.gelu(x, approximate="tanh")
        tensor([-0.1588,  0.0000,  0.8412])
    """
def gelu_(input: Tensor, *, approximate: str = 'none') -> Tensor:
    """Write the result of gelu over input and return it."""
def gelu_erf(input: Tensor) -> Tensor:
    """Multiplies each element by the chance that a standard normal variable is below it.

    Example:
        >>> weft.gelu_erf(weft.tensor([-1.0, 1.0]))
        tensor([-0.1587,  0.8413])
    """
def gelu_erf_(input: Tensor) -> Tensor:
    """Write the result of gelu_erf over input and return it."""
def gelu_erf_slope(input: Tensor) -> Tensor:
    """Computes the derivative of gelu_erf.

    Example:
        >>> weft.gelu_erf_slope(weft.tensor([-1.0, 1.0]))
        tensor([-0.0833,  1.0833])
    """
def gelu_erf_slope_(input: Tensor) -> Tensor:
    """Write the result of gelu_erf_slope over input and return it."""
def gelu_tanh(input: Tensor) -> Tensor:
    """Computes gelu's approximation by tanh.

    Example:
        >>> weft.gelu_tanh(weft.tensor([-1.0, 1.0]))
        tensor([-0.1588,  0.8412])
    """
def gelu_tanh_(input: Tensor) -> Tensor:
    """Write the result of gelu_tanh over input and return it."""
def greater(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is greater than other.

    Example:
        >>> weft.gt(weft.tensor([1, 2, 3]), 2)
        tensor([False, False,  True])
    """
def greater_equal(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is greater than or equal to other.

    Example:
        >>> weft.ge(weft.tensor([1, 2, 3]), 2)
        tensor([False,  True,  True])
    """
def gru_gates(from_input: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor:
    """Applies the gates of a GRU: reset, update and new, each before its activation, from the
    input and from the hidden state (..., 3 * size).

    Example:
        >>> weft.gru_gates(weft.zeros(1, 6), weft.zeros(1, 6), weft.ones(1, 2))
        tensor([[0.5000, 0.5000]])
    """
def gru_gates_backward(
    grad: Tensor,
    from_input: Tensor,
    from_hidden: Tensor,
    hidden: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of gru_gates.

    Example:
        >>> zeros = weft.zeros(1, 6)
        >>> grads = weft.gru_gates_backward(weft.ones(1, 2), zeros, zeros, weft.ones(1, 2))
        >>> grads[2]
        tensor([[0.5000, 0.5000]])
    """
def gt(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is greater than other.

    Example:
        >>> weft.gt(weft.tensor([1, 2, 3]), 2)
        tensor([False, False,  True])
    """
def gt_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of gt over input and return it."""
def hardtanh(
    input: Tensor,
    min_val: Tensor | _Number = -1.0,
    max_val: Tensor | _Number = 1.0,
) -> Tensor:
    """Limits elements to the range from min_val to max_val.

    The gradient at the bounds is 0.

    Example:
        >>> weft.hardtanh(weft.tensor([-2.0, 0.5, 2.0]), -1.0, 1.0)
        tensor([-1.0000,  0.5000,  1.0000])
    """
def hardtanh_(
    input: Tensor,
    min_val: Tensor | _Number = -1.0,
    max_val: Tensor | _Number = 1.0,
) -> Tensor:
    """Write the result of hardtanh over input and return it."""
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """Returns the length of the vector (input, other).

    Example:
        >>> weft.hypot(weft.tensor([3.0]), weft.tensor([4.0]))
        tensor([5.])
    """
def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of hypot over input and return it."""
def i0(input: Tensor) -> Tensor:
    """Returns the modified Bessel function of the first kind of order 0.

    Example:
        >>> weft.i0(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
    """
def i0_(input: Tensor) -> Tensor:
    """Write the result of i0 over input and return it."""
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """Returns the share of a gamma distribution of shape `input` below `other`.

    Example:
        >>> weft.igamma(weft.tensor(1.0), weft.tensor(2.0))  # 1 - exp(-2)
        tensor(0.8647)
    """
def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of igamma over input and return it."""
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """Returns the share of a gamma distribution of shape `input` above `other`.

    Example:
        >>> weft.igammac(weft.tensor(1.0), weft.tensor(2.0))  # exp(-2)
        tensor(0.1353)
    """
def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of igammac over input and return it."""
def index(input: Tensor, indices: Sequence[Tensor], dims: _int | Sequence[_int]) -> Tensor:
    """Picks elements by integer tensors, one for each of dims, broadcast against each other.

    Their dimensions take the place of dims if those are neighbours, and come first otherwise.

    Example:
        >>> weft.index(weft.tensor([10, 20, 30]), [weft.tensor([2, 0])], [0])  # x[[2, 0]]
        tensor([30, 10])
    """
def index_(input: Tensor, indices: Sequence[Tensor], dims: _int | Sequence[_int]) -> Tensor:
    """Write the result of index over input and return it."""
def index_backward(
    grad: Tensor,
    indices: Sequence[Tensor],
    size: _int | Sequence[_int],
    dims: _int | Sequence[_int],
) -> Tensor:
    """Sums a gradient into zeros where index would read, in the order of the indices.

    Example:
        >>> weft.index_backward(weft.ones(2), [weft.tensor([2, 2])], [3], [0])
        tensor([0., 0., 2.])
    """
def index_select(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """Picks slices of a dimension by their indices.

    Example:
        >>> weft.index_select(weft.tensor([[1, 2], [3, 4]]), 1, weft.tensor([1, 1, 0]))
        tensor([[2, 2, 1],
                [4, 4, 3]])
    """
def index_select_(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """Write the result of index_select over input and return it."""
def isfinite(input: Tensor) -> Tensor:
    """Tells which elements are neither infinite nor NaN.

    Example:
        >>> weft.isfinite(weft.tensor([1.0, weft.inf, weft.nan]))
        tensor([ True, False, False])
    """
def isfinite_(input: Tensor) -> Tensor:
    """Write the result of isfinite over input and return it."""
def isinf(input: Tensor) -> Tensor:
    """Tells which elements are infinite.

    Example:
        >>> weft.isinf(weft.tensor([1.0, -weft.inf, weft.nan]))
        tensor([False,  True, False])
    """
def isinf_(input: Tensor) -> Tensor:
    """Write the result of isinf over input and return it."""
def isnan(input: Tensor) -> Tensor:
    """Tells which elements are NaN.

    Example:
        >>> weft.isnan(weft.tensor([1.0, weft.inf, weft.nan]))
        tensor([False, False,  True])
    """
def isnan_(input: Tensor) -> Tensor:
    """Write the result of isnan over input and return it."""
def layer_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Brings the last dimensions, of sizes `normalized_shape`, to mean 0 and variance 1, then
    multiplies by `weight` and adds `bias`.

    Example:
        >>> weft.layer_norm(weft.tensor([[1.0, 2.0, 3.0]]), [3])
        tensor([[-1.2247,  0.0000,  1.2247]])
    """
def layer_norm_(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Write the result of layer_norm over input and return it."""
def layer_norm_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None = None,
    size: _int = 1,
    eps: _float = 1e-05,
    wanted: _int = 7,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of layer_norm over rows of `size`; those whose bit in `wanted` is not
    set are empty.

    Example:
        >>> x = weft.tensor([[1.0, 2.0, 4.0]])
        >>> weft.layer_norm_backward(weft.ones(1, 3), x, size=3)[2]  # the bias's gradient
        tensor([1., 1., 1.])
    """
def le(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is less than or equal to other.

    Example:
        >>> weft.le(weft.tensor([1, 2, 3]), 2)
        tensor([ True,  True, False])
    """
def le_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of le over input and return it."""
def leaky_relu(input: Tensor, negative_slope: Tensor | _Number = 0.01) -> Tensor:
    """Multiplies negative elements by negative_slope.

    Example:
        >>> weft.leaky_relu(weft.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
def leaky_relu_(input: Tensor, negative_slope: Tensor | _Number = 0.01) -> Tensor:
    """Write the result of leaky_relu over input and return it."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number) -> Tensor:
    """Interpolates between input (weight 0) and end (weight 1).

    Example:
        >>> weft.lerp(weft.tensor([0.0, 10.0]), weft.tensor([1.0, 20.0]), 0.25)
        tensor([ 0.2500, 12.5000])
    """
def lerp_(input: Tensor, end: Tensor, weight: Tensor | _Number) -> Tensor:
    """Write the result of lerp over input and return it."""
def less(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is less than other.

    Example:
        >>> weft.lt(weft.tensor([1, 2, 3]), 2)
        tensor([ True, False, False])
    """
def less_equal(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is less than or equal to other.

    Example:
        >>> weft.le(weft.tensor([1, 2, 3]), 2)
        tensor([ True,  True, False])
    """
def lgamma(input: Tensor) -> Tensor:
    """Returns the logarithm of the absolute value of the gamma function.

    Example:
        >>> weft.lgamma(weft.tensor([1.0, 5.0]))  # log(4!) is 3.1781
        tensor([0.0000, 3.1781])
    """
def lgamma_(input: Tensor) -> Tensor:
    """Write the result of lgamma over input and return it."""
def linalg_cholesky_ex(
    A: Tensor,
    *,
    upper: _bool = False,
    check_errors: _bool = False,
) -> tuple[Tensor, Tensor]:
    """Factors positive definite matrices into L @ L.T, of which only one triangle is read.

    `info` is 0, or the order of the first minor that is not positive definite.

    Example:
        >>> weft.linalg_cholesky_ex(weft.tensor([[4.0, 2.0], [2.0, 2.0]]))
        (tensor([[2., 0.],
                [1., 1.]]), tensor(0, dtype=weft.int32))
    """
def linalg_eigh(A: Tensor, UPLO: str = 'L') -> tuple[Tensor, Tensor]:
    """Returns the eigenvalues of symmetric matrices in rising order, and their eigenvectors as
    columns.

    Only the lower triangle is read, or the upper with UPLO='U'.

    Example:
        >>> values, vectors = weft.linalg_eigh(weft.tensor([[2.0, 1.0], [1.0, 2.0]]))
        >>> values
        tensor([1., 3.])
    """
def linalg_lu_factor_ex(
    A: Tensor,
    *,
    check_errors: _bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Factors matrices into P @ L @ U.

    LU holds U and, below its diagonal, L without its ones; row i was swapped with row
    pivots[i], counted from 1. `info` is 0, or which diagonal element of U is zero.

    Example:
        >>> factors, pivots, info = weft.linalg_lu_factor_ex(weft.tensor([[0.0, 1.0], [2.0, 3.0]]))
        >>> pivots  # which row each one was exchanged with, from 1
        tensor([2, 2], dtype=weft.int32)
    """
def linalg_qr(A: Tensor, mode: str = 'reduced') -> tuple[Tensor, Tensor]:
    """Factors matrices into Q @ R, Q with orthonormal columns and R upper triangular.

    The mode is 'reduced', 'complete' (Q is square) or 'r' (Q is empty).

    Example:
        >>> Q, R = weft.linalg_qr(weft.tensor([[3.0], [4.0]]))
        >>> Q.shape, R.shape
        (weft.Size([2, 1]), weft.Size([1, 1]))
    """
def linalg_solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    check_errors: _bool = False,
) -> tuple[Tensor, Tensor]:
    """Solves A @ X = B for square matrices A.

    `info` is 0, or tells that A is singular.

    Example:
        >>> A, B = weft.tensor([[2.0, 0.0], [0.0, 4.0]]), weft.tensor([[2.0], [2.0]])
        >>> weft.linalg_solve_ex(A, B)[0]
        tensor([[1.0000],
                [0.5000]])
    """
def linalg_solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: _bool,
    left: _bool = True,
    unitriangular: _bool = False,
) -> Tensor:
    """Solves A @ X = B, or X @ A = B, where A is triangular; the other triangle is not read.

    Example:
        >>> A, B = weft.tensor([[2.0, 0.0], [1.0, 1.0]]), weft.tensor([[2.0], [3.0]])
        >>> weft.linalg_solve_triangular(A, B, upper=False)
        tensor([[1.],
                [2.]])
    """
def linalg_svd(A: Tensor, full_matrices: _bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Factors matrices into U @ diag(S) @ Vh: orthonormal columns, singular values in falling
    order, orthonormal rows.

    With full_matrices=False only as many as there are singular values.

    Example:
        >>> U, S, Vh = weft.linalg_svd(weft.tensor([[3.0, 0.0], [0.0, -2.0]]))
        >>> S
        tensor([3., 2.])
    """
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Applies input @ transpose(weight) + bias to the last dimension.

    `weight` is (out, in).

    Example:
        >>> weight, bias = weft.tensor([[1.0, 2.0]]), weft.tensor([0.5])
        >>> weft.linear(weft.tensor([[3.0, 4.0]]), weight, bias)
        tensor([[11.5000]])
    """
def linear_(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Write the result of linear over input and return it."""
def log(input: Tensor) -> Tensor:
    """Returns the natural logarithm of each element.

    Example:
        >>> weft.log(weft.tensor([1.0, 2.0, 0.0]))
        tensor([0.0000, 0.6931,   -inf])
    """
def log10(input: Tensor) -> Tensor:
    """Returns the logarithm to base 10 of each element.

    Example:
        >>> weft.log10(weft.tensor([1.0, 1000.0]))
        tensor([0., 3.])
    """
def log10_(input: Tensor) -> Tensor:
    """Write the result of log10 over input and return it."""
def log1p(input: Tensor) -> Tensor:
    """Computes log(1 + input) without losing digits near zero.

    Example:
        >>> weft.log1p(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
    """
def log1p_(input: Tensor) -> Tensor:
    """Write the result of log1p over input and return it."""
def log2(input: Tensor) -> Tensor:
    """Returns the logarithm to base 2 of each element.

    Example:
        >>> weft.log2(weft.tensor([1.0, 8.0]))
        tensor([0., 3.])
    """
def log2_(input: Tensor) -> Tensor:
    """Write the result of log2 over input and return it."""
def log_(input: Tensor) -> Tensor:
    """Write the result of log over input and return it."""
def log_softmax(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Returns the logarithm of `softmax`, without overflow.

    Example:
        >>> weft.log_softmax(weft.tensor([[0.0, 0.0], [1.0, 3.0]]), dim=1)
        tensor([[-0.6931, -0.6931],
                [-2.1269, -0.1269]])
    """
def log_softmax_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Write the result of log_softmax over input and return it."""
def log_softmax_backward(grad: Tensor, output: Tensor, dim: _int) -> Tensor:
    """Returns the gradient of log_softmax's input: grad - exp(output) * sum(grad).

    Example:
        >>> output = weft.log_softmax(weft.zeros(2), dim=0)
        >>> weft.log_softmax_backward(weft.tensor([1.0, 0.0]), output, 0)
        tensor([ 0.5000, -0.5000])
    """
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Tells where both elements are nonzero.

    Example:
        >>> weft.logical_and(weft.tensor([0, 1, 2]), weft.tensor([1, 1, 0]))
        tensor([False,  True, False])
    """
def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of logical_and over input and return it."""
def logical_not(input: Tensor) -> Tensor:
    """Tells which elements are zero.

    Example:
        >>> weft.logical_not(weft.tensor([0, 1, 2]))
        tensor([ True, False, False])
    """
def logical_not_(input: Tensor) -> Tensor:
    """Write the result of logical_not over input and return it."""
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Tells where an element of the two is nonzero.

    Example:
        >>> weft.logical_or(weft.tensor([0, 1, 0]), weft.tensor([1, 1, 0]))
        tensor([ True,  True, False])
    """
def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of logical_or over input and return it."""
def logsigmoid(input: Tensor) -> Tensor:
    """Computes log(sigmoid(x)) without underflow.

    Example:
        >>> weft.logsigmoid(weft.tensor([-100.0, 0.0]))
        tensor([-100.0000,   -0.6931])
    """
def logsigmoid_(input: Tensor) -> Tensor:
    """Write the result of logsigmoid over input and return it."""
def lstm_gates(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Applies the gates of an LSTM: `gates` (..., 4 * size) holds input, forget, cell and output
    gates before their activation.

    In a tree a node follows two others: `cell` holds both cells, (..., 2 * size), and `gates` a
    forget gate for each.

    Example:
        >>> hidden, cell = weft.lstm_gates(weft.zeros(1, 8), weft.ones(1, 2))
        >>> cell
        tensor([[0.5000, 0.5000]])
    """
def lstm_gates_backward(
    gates: Tensor,
    cell: Tensor,
    next_cell: Tensor,
    grad_hidden: Tensor | None = None,
    grad_cell: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of lstm_gates.

    Example:
        >>> gates, cell = weft.zeros(1, 8), weft.ones(1, 2)
        >>> following = weft.lstm_gates(gates, cell)[1]
        >>> weft.lstm_gates_backward(gates, cell, following, grad_cell=weft.ones(1, 2))[1]
        tensor([[0.5000, 0.5000]])
    """
def lt(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input is less than other.

    Example:
        >>> weft.lt(weft.tensor([1, 2, 3]), 2)
        tensor([ True, False, False])
    """
def lt_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of lt over input and return it."""
def lu_permutation(pivots: Tensor, size: _int) -> Tensor:
    """Says where each row came from after the swaps of an LU factorisation.

    Example:
        >>> weft.lu_permutation(weft.tensor([2, 2], dtype=weft.int32), 2)
        tensor([1, 0])
    """
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """Returns a copy of input with a value where mask is true.

    Example:
        >>> x = weft.tensor([1.0, 2.0, 3.0])
        >>> weft.masked_fill(x, x > 1.5, -weft.inf)
        tensor([1., -inf, -inf])
    """
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """Write the result of masked_fill over input and return it."""
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiplies vectors, matrices or batches of matrices.

    A vector counts as a row on the left and as a column on the right; dimensions before the
    last two broadcast.

    Example:
        >>> weft.matmul(weft.ones(2, 3), weft.ones(3))
        tensor([3., 3.])
        >>> weft.matmul(weft.ones(4, 2, 3), weft.ones(3, 5)).shape
        weft.Size([4, 2, 5])
    """
def matmul_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of matmul over input and return it."""
def max_all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Returns the largest element as amax does, but with NaN the gradient goes to all NaN.

    Example:
        >>> weft.max_all(weft.tensor([[1, 5], [7, 2]]))
        tensor(7)
    """
def max_all_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of max_all over input and return it."""
def max_dim(input: Tensor, dim: _int, keepdim: _bool = False) -> tuple[Tensor, Tensor]:
    """Returns the largest elements along a dimension and their first positions.

    NaN wins.

    Example:
        >>> weft.max_dim(weft.tensor([[1, 5], [7, 2]]), 1)
        (tensor([5, 7]), tensor([1, 0]))
    """
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """Returns the larger of two elements; a NaN wins.

    At equal ones each gets half of the gradient.

    Example:
        >>> weft.maximum(weft.tensor([1, 5]), weft.tensor([3, 2]))
        tensor([3, 5])
    """
def maximum_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of maximum over input and return it."""
def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor:
    """Averages elements, over all dimensions or those in `dim`.

    Integers need a `dtype` to average in.

    Example:
        >>> x = weft.tensor([[1.0, 2.0], [3.0, 6.0]])
        >>> weft.mean(x)
        tensor(3.)
        >>> weft.mean(x, dim=1, keepdim=True)
        tensor([[1.5000],
                [4.5000]])
    """
def mean_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor:
    """Write the result of mean over input and return it."""
def min_all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Returns the smallest element as amin does, but with NaN the gradient goes to all NaN.

    Example:
        >>> weft.min_all(weft.tensor([[1, 5], [7, 2]]))
        tensor(1)
    """
def min_all_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of min_all over input and return it."""
def min_dim(input: Tensor, dim: _int, keepdim: _bool = False) -> tuple[Tensor, Tensor]:
    """Returns the smallest elements along a dimension and their first positions.

    NaN wins.

    Example:
        >>> weft.min_dim(weft.tensor([[1, 5], [7, 2]]), 1)
        (tensor([1, 2]), tensor([0, 1]))
    """
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """Returns the smaller of two elements; a NaN wins.

    At equal ones each gets half of the gradient.

    Example:
        >>> weft.minimum(weft.tensor([1, 5]), weft.tensor([3, 2]))
        tensor([1, 2])
    """
def minimum_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of minimum over input and return it."""
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiplies two matrices.

    Example:
        >>> weft.mm(weft.tensor([[1, 2], [3, 4]]), weft.tensor([[0, 1], [1, 0]]))
        tensor([[2, 1],
                [4, 3]])
    """
def mm_(input: Tensor, mat2: Tensor) -> Tensor:
    """Write the result of mm over input and return it."""
def mul(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Multiplies two tensors.

    Example:
        >>> weft.mul(weft.tensor([[1], [2]]), weft.tensor([10, 20]))  # shapes broadcast
        tensor([[10, 20],
                [20, 40]])
    """
def mul_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of mul over input and return it."""
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Draws positions of each row with probabilities proportional to the row's elements.

    Example:
        >>> weft.multinomial(weft.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
        tensor([1, 1, 1])
    """
def multinomial_(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Write the result of multinomial over input and return it."""
def multiply(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Multiplies two tensors.

    Example:
        >>> weft.mul(weft.tensor([[1], [2]]), weft.tensor([10, 20]))  # shapes broadcast
        tensor([[10, 20],
                [20, 40]])
    """
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Multiplies a matrix with a vector.

    Example:
        >>> weft.mv(weft.tensor([[1, 2], [3, 4]]), weft.tensor([1, 1]))
        tensor([3, 7])
    """
def mv_(input: Tensor, vec: Tensor) -> Tensor:
    """Write the result of mv over input and return it."""
def ne(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input differs from other.

    Example:
        >>> weft.ne(weft.tensor([1, 2, 3]), 2)
        tensor([ True, False,  True])
    """
def ne_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of ne over input and return it."""
def neg(input: Tensor) -> Tensor:
    """Turns the sign of each element.

    Example:
        >>> weft.neg(weft.tensor([1, -2]))
        tensor([-1,  2])
    """
def neg_(input: Tensor) -> Tensor:
    """Write the result of neg over input and return it."""
def negative(input: Tensor) -> Tensor:
    """Turns the sign of each element.

    Example:
        >>> weft.neg(weft.tensor([1, -2]))
        tensor([-1,  2])
    """
def not_equal(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Tells where input differs from other.

    Example:
        >>> weft.ne(weft.tensor([1, 2, 3]), 2)
        tensor([ True, False,  True])
    """
def outer_sum(input: Tensor, other: Tensor) -> Tensor:
    """Adds up the outer products of the rows of two tensors: transpose(input) @ other, where all
    dimensions but the last are taken as one.

    The gradient of a linear layer's weight.

    Example:
        >>> weft.outer_sum(weft.ones(4, 2), weft.ones(4, 3)).shape
        weft.Size([2, 3])
    """
def outer_sum_(input: Tensor, other: Tensor) -> Tensor:
    """Write the result of outer_sum over input and return it."""
def permutation(n: _int, *, generator: Generator | None = None) -> Tensor:
    """Returns the integers from 0 to n - 1 in random order.

    Example:
        >>> weft.permutation(5).sort()[0]  # weft.randperm is the function to use
        tensor([0, 1, 2, 3, 4])
    """
@overload
def permute(input: Tensor, dims: _int | Sequence[_int]) -> Tensor:
    """Returns a view with its dimensions in another order.

    Example:
        >>> weft.permute(weft.zeros(2, 3, 5), (2, 0, 1)).shape
        weft.Size([5, 2, 3])
    """
@overload
def permute(input: Tensor, *dims: _int) -> Tensor:
    """Returns a view with its dimensions in another order.

    Example:
        >>> weft.permute(weft.zeros(2, 3, 5), (2, 0, 1)).shape
        weft.Size([5, 2, 3])
    """
def pinv_of(A: Tensor, pinv: Tensor) -> Tensor:
    """Returns `pinv`, the pseudoinverses of A, with their gradient for A: that of a matrix whose
    rank does not change.

    Example:
        >>> weft.linalg.pinv(weft.tensor([[2.0, 0.0]]))
        tensor([[0.5000],
                [0.0000]])
    """
def polygamma(n: Tensor | _Number, input: Tensor) -> Tensor:
    """Returns the n-th derivative of digamma.

    Example:
        >>> weft.polygamma(1, weft.tensor([1.0]))  # the trigamma function
        tensor([1.6449])
    """
def pow(input: Tensor | _Number, exponent: Tensor | _Number) -> Tensor:
    """Raises input to the power of exponent.

    Example:
        >>> weft.pow(weft.tensor([1, 2, 3]), 2)
        tensor([1, 4, 9])
        >>> weft.pow(2, weft.tensor([1, 2, 3]))
        tensor([2, 4, 8])
    """
def pow_(input: Tensor | _Number, exponent: Tensor | _Number) -> Tensor:
    """Write the result of pow over input and return it."""
def prod_(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor:
    """Write the result of prod over input and return it."""
def reciprocal(input: Tensor) -> Tensor:
    """Returns 1 / input.

    Example:
        >>> weft.reciprocal(weft.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
    """
def reciprocal_(input: Tensor) -> Tensor:
    """Write the result of reciprocal over input and return it."""
def relu(input: Tensor) -> Tensor:
    """Replaces negative elements by 0.

    The gradient at 0 is 0.

    Example:
        >>> weft.relu(weft.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
def relu_(input: Tensor) -> Tensor:
    """Write the result of relu over input and return it."""
def remainder(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Computes Python's modulus: the remainder has the sign of other.

    Example:
        >>> weft.remainder(weft.tensor([-7, 7]), 3)  # the sign of the second; see fmod
        tensor([2, 1])
    """
def remainder_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of remainder over input and return it."""
@overload
def reshape(input: Tensor, shape: _int | Sequence[_int]) -> Tensor:
    """Returns a tensor with the same elements and other sizes: a view where strides allow it, a
    copy otherwise.

    One size may be -1.

    Example:
        >>> weft.reshape(weft.arange(6), (2, -1))  # -1: what is left
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
@overload
def reshape(input: Tensor, *shape: _int) -> Tensor:
    """Returns a tensor with the same elements and other sizes: a view where strides allow it, a
    copy otherwise.

    One size may be -1.

    Example:
        >>> weft.reshape(weft.arange(6), (2, -1))  # -1: what is left
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
@overload
def reshape_(input: Tensor, shape: _int | Sequence[_int]) -> Tensor:
    """Write the result of reshape over input and return it."""
@overload
def reshape_(input: Tensor, *shape: _int) -> Tensor:
    """Write the result of reshape over input and return it."""
def restride(
    input: Tensor,
    from_stride: _int | Sequence[_int],
    from_offset: _int,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    offset: _int,
) -> Tensor:
    """Adds input into an empty storage by one set of strides and reads it by another.

    Example:
        >>> weft.restride(weft.arange(6), [1], 0, [3], [2], 0)
        tensor([0, 2, 4])
    """
def restride_(
    input: Tensor,
    from_stride: _int | Sequence[_int],
    from_offset: _int,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    offset: _int,
) -> Tensor:
    """Write the result of restride over input and return it."""
def rsqrt(input: Tensor) -> Tensor:
    """Returns 1 over the square root of each element.

    Example:
        >>> weft.rsqrt(weft.tensor([1.0, 4.0]))
        tensor([1.0000, 0.5000])
    """
def rsqrt_(input: Tensor) -> Tensor:
    """Write the result of rsqrt over input and return it."""
def scatter_combine(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
) -> Tensor:
    """Returns a copy of input with values combined along a dimension as scatter_add adds them;
    reduce is 'prod', 'amax' or 'amin'.

    Example:
        >>> x, index = weft.tensor([1.0, 1.0]), weft.tensor([0, 0])
        >>> weft.scatter_combine(x, 0, index, weft.tensor([3.0, 2.0]), "amax")
        tensor([3., 1.])
    """
def scatter_combine_(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
) -> Tensor:
    """Write the result of scatter_combine over input and return it."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Returns a view at one index of a dimension, which disappears.

    Example:
        >>> weft.select(weft.tensor([[1, 2], [3, 4]]), 0, 1)  # the view x[1]
        tensor([3, 4])
    """
def sigmoid(input: Tensor) -> Tensor:
    """Computes 1 / (1 + exp(-x)).

    Example:
        >>> weft.sigmoid(weft.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """
def sigmoid_(input: Tensor) -> Tensor:
    """Write the result of sigmoid over input and return it."""
def sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor:
    """Returns the gradient of sigmoid's input: one pass instead of three.

    Example:
        >>> weft.sigmoid_backward(weft.tensor([1.0]), weft.sigmoid(weft.tensor([0.0])))
        tensor([0.2500])
    """
def sign(input: Tensor) -> Tensor:
    """Returns -1, 0 or 1 by the sign of each element.

    Example:
        >>> weft.sign(weft.tensor([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
    """
def sign_(input: Tensor) -> Tensor:
    """Write the result of sign over input and return it."""
def silu(input: Tensor) -> Tensor:
    """Computes x * sigmoid(x).

    Example:
        >>> weft.silu(weft.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
def silu_(input: Tensor) -> Tensor:
    """Write the result of silu over input and return it."""
def sin(input: Tensor) -> Tensor:
    """Returns the sine of each element.

    Example:
        >>> weft.sin(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
    """
def sin_(input: Tensor) -> Tensor:
    """Write the result of sin over input and return it."""
def sinh(input: Tensor) -> Tensor:
    """Returns the hyperbolic sine of each element.

    Example:
        >>> weft.sinh(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
    """
def sinh_(input: Tensor) -> Tensor:
    """Write the result of sinh over input and return it."""
def slice(
    input: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """Returns a view of every step-th index from start to before end of a dimension.

    Negative bounds count from the end; bounds outside are clamped.

    Example:
        >>> weft.slice(weft.arange(10), 0, 2, 8, 3)  # the view x[2:8:3]
        tensor([2, 5])
    """
def softmax(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Returns the exponentials along a dimension, divided by their sum.

    Example:
        >>> weft.softmax(weft.tensor([[0.0, 0.0], [1.0, 3.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])
    """
def softmax_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
    """Write the result of softmax over input and return it."""
def softmax_backward(grad: Tensor, output: Tensor, dim: _int) -> Tensor:
    """Returns the gradient of softmax's input: output * (grad - sum(grad * output)).

    Example:
        >>> output = weft.softmax(weft.zeros(2), dim=0)
        >>> weft.softmax_backward(weft.tensor([1.0, 0.0]), output, 0)
        tensor([ 0.2500, -0.2500])
    """
def softplus(
    input: Tensor,
    beta: Tensor | _Number = 1.0,
    threshold: Tensor | _Number = 20.0,
) -> Tensor:
    """Computes log(1 + exp(beta * x)) / beta, and keeps x where beta * x exceeds threshold.

    Example:
        >>> weft.softplus(weft.tensor([0.0, 1.0]), beta=2.0)
        tensor([0.3466, 1.0635])
    """
def softplus_(
    input: Tensor,
    beta: Tensor | _Number = 1.0,
    threshold: Tensor | _Number = 20.0,
) -> Tensor:
    """Write the result of softplus over input and return it."""
def special_airy_ai(x: Tensor) -> Tensor:
    """Returns Airy's function of the first kind.

    Example:
        >>> weft.special.airy_ai(weft.tensor([0.0, 1.0]))
        tensor([0.3550, 0.1353])
    """
def special_bessel_j0(input: Tensor) -> Tensor:
    """Returns the Bessel function of the first kind of order 0.

    Example:
        >>> weft.special.bessel_j0(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 0.7652])
    """
def special_bessel_j0_(input: Tensor) -> Tensor:
    """Write the result of special_bessel_j0 over input and return it."""
def special_bessel_j1(input: Tensor) -> Tensor:
    """Returns the Bessel function of the first kind of order 1.

    Example:
        >>> weft.special.bessel_j1(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.4401])
    """
def special_bessel_j1_(input: Tensor) -> Tensor:
    """Write the result of special_bessel_j1 over input and return it."""
def special_bessel_y0(input: Tensor) -> Tensor:
    """Returns the Bessel function of the second kind of order 0.

    Example:
        >>> weft.special.bessel_y0(weft.tensor([1.0, 2.0]))
        tensor([0.0883, 0.5104])
    """
def special_bessel_y0_(input: Tensor) -> Tensor:
    """Write the result of special_bessel_y0 over input and return it."""
def special_bessel_y1(input: Tensor) -> Tensor:
    """Returns the Bessel function of the second kind of order 1.

    Example:
        >>> weft.special.bessel_y1(weft.tensor([1.0, 2.0]))
        tensor([-0.7812, -0.1070])
    """
def special_bessel_y1_(input: Tensor) -> Tensor:
    """Write the result of special_bessel_y1 over input and return it."""
def special_erfcx(input: Tensor) -> Tensor:
    """Computes erfc(input) times exp(input * input).

    Example:
        >>> weft.special.erfcx(weft.tensor([0.0, 20.0]))  # erfc(20) itself is 0 in float32
        tensor([1.0000, 0.0282])
    """
def special_erfcx_(input: Tensor) -> Tensor:
    """Write the result of special_erfcx over input and return it."""
def special_i0e(input: Tensor) -> Tensor:
    """Computes i0(input) times exp(-|input|).

    Example:
        >>> weft.special.i0e(weft.tensor([0.0, 100.0]))
        tensor([1.0000, 0.0399])
    """
def special_i0e_(input: Tensor) -> Tensor:
    """Write the result of special_i0e over input and return it."""
def special_i1(input: Tensor) -> Tensor:
    """Returns the modified Bessel function of the first kind of order 1.

    Example:
        >>> weft.special.i1(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.5652])
    """
def special_i1_(input: Tensor) -> Tensor:
    """Write the result of special_i1 over input and return it."""
def special_i1e(input: Tensor) -> Tensor:
    """Computes i1(input) times exp(-|input|).

    Example:
        >>> weft.special.i1e(weft.tensor([0.0, 100.0]))
        tensor([0.0000, 0.0397])
    """
def special_i1e_(input: Tensor) -> Tensor:
    """Write the result of special_i1e over input and return it."""
def special_log_ndtr(input: Tensor) -> Tensor:
    """Returns the logarithm of the share of a standard normal distribution below each element.

    Example:
        >>> weft.special.log_ndtr(weft.tensor([0.0, -30.0]))
        tensor([  -0.6931, -454.3213])
    """
def special_log_ndtr_(input: Tensor) -> Tensor:
    """Write the result of special_log_ndtr over input and return it."""
def special_modified_bessel_k0(input: Tensor) -> Tensor:
    """Returns the modified Bessel function of the second kind of order 0.

    Example:
        >>> weft.special.modified_bessel_k0(weft.tensor([1.0, 2.0]))
        tensor([0.4210, 0.1139])
    """
def special_modified_bessel_k0_(input: Tensor) -> Tensor:
    """Write the result of special_modified_bessel_k0 over input and return it."""
def special_modified_bessel_k1(input: Tensor) -> Tensor:
    """Returns the modified Bessel function of the second kind of order 1.

    Example:
        >>> weft.special.modified_bessel_k1(weft.tensor([1.0, 2.0]))
        tensor([0.6019, 0.1399])
    """
def special_modified_bessel_k1_(input: Tensor) -> Tensor:
    """Write the result of special_modified_bessel_k1 over input and return it."""
def special_ndtri(input: Tensor) -> Tensor:
    """Returns below what each share of a standard normal distribution lies.

    Example:
        >>> weft.special.ndtri(weft.tensor([0.5, 0.975]))
        tensor([0.0000, 1.9600])
    """
def special_ndtri_(input: Tensor) -> Tensor:
    """Write the result of special_ndtri over input and return it."""
def special_scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """Computes modified_bessel_k0(input) times exp(input).

    Example:
        >>> weft.special.scaled_modified_bessel_k0(weft.tensor([1.0, 100.0]))
        tensor([1.1445, 0.1252])
    """
def special_scaled_modified_bessel_k0_(input: Tensor) -> Tensor:
    """Write the result of special_scaled_modified_bessel_k0 over input and return it."""
def special_scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """Computes modified_bessel_k1(input) times exp(input).

    Example:
        >>> weft.special.scaled_modified_bessel_k1(weft.tensor([1.0, 100.0]))
        tensor([1.6362, 0.1258])
    """
def special_scaled_modified_bessel_k1_(input: Tensor) -> Tensor:
    """Write the result of special_scaled_modified_bessel_k1 over input and return it."""
def special_zeta(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Adds up (other + k) to the power of -input over all k from 0: Hurwitz's zeta function.

    Example:
        >>> weft.special.zeta(weft.tensor(2.0), weft.tensor(1.0))  # pi ** 2 / 6
        tensor(1.6449)
    """
def special_zeta_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of special_zeta over input and return it."""
def split_with_sizes(
    input: Tensor,
    split_sizes: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]:
    """Cuts a dimension into views of the given sizes, which must add up to it.

    Example:
        >>> weft.split_with_sizes(weft.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
def sqrt(input: Tensor) -> Tensor:
    """Returns the square root of each element.

    Example:
        >>> weft.sqrt(weft.tensor([4.0, 2.0]))
        tensor([2.0000, 1.4142])
    """
def sqrt_(input: Tensor) -> Tensor:
    """Write the result of sqrt over input and return it."""
def square(input: Tensor) -> Tensor:
    """Multiplies each element by itself.

    Example:
        >>> weft.square(weft.tensor([-2.0, 3.0]))
        tensor([4., 9.])
    """
def square_(input: Tensor) -> Tensor:
    """Write the result of square over input and return it."""
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Removes dimensions of size 1: all of them, or those in dim (others in dim stay).

    Example:
        >>> x = weft.zeros(1, 2, 1)
        >>> weft.squeeze(x).shape, weft.squeeze(x, 0).shape
        (weft.Size([2]), weft.Size([2, 1]))
    """
def stack(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Joins tensors of one shape along a new dimension.

    Example:
        >>> x = weft.tensor([1, 2])
        >>> weft.stack([x, x], dim=1)
        tensor([[1, 1],
                [2, 2]])
    """
def strided_view(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int,
    input_stride: _int | Sequence[_int],
    input_offset: _int,
) -> Tensor:
    """Returns a view of the storage with given sizes, strides and offset.

    The gradient needs the strides and the offset of the input as they are now.

    Example:
        >>> weft.strided_view(weft.arange(6), [3], [2], 1, [1], 0)
        tensor([1, 3, 5])
    """
def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor:
    """Adds up elements, over all dimensions or those in `dim`.

    Sums of integers and bools are int64. float32 is added up in blocks, and those in float64.

    Example:
        >>> x = weft.tensor([[1, 2], [3, 4]])
        >>> weft.sum(x)
        tensor(10)
        >>> weft.sum(x, dim=0)
        tensor([4, 6])
        >>> weft.sum(x, dim=0, keepdim=True).shape
        weft.Size([1, 2])
    """
def sum_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
) -> Tensor:
    """Write the result of sum over input and return it."""
def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Returns a view with two dimensions swapped.

    Example:
        >>> weft.transpose(weft.zeros(2, 3, 5), 0, 2).shape
        weft.Size([5, 3, 2])
    """
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Returns a view with two dimensions swapped.

    Example:
        >>> weft.transpose(weft.zeros(2, 3, 5), 0, 2).shape
        weft.Size([5, 3, 2])
    """
def t(input: Tensor) -> Tensor:
    """Transposes a matrix; tensors of fewer dimensions stay as they are.

    Example:
        >>> weft.t(weft.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
def tanh(input: Tensor) -> Tensor:
    """Returns the hyperbolic tangent of each element.

    Example:
        >>> weft.tanh(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """
def tanh_(input: Tensor) -> Tensor:
    """Write the result of tanh over input and return it."""
def tanh_backward(grad: Tensor, output: Tensor) -> Tensor:
    """Returns the gradient of tanh's input: one pass instead of three.

    Example:
        >>> weft.tanh_backward(weft.tensor([1.0]), weft.tanh(weft.tensor([0.0])))
        tensor([1.])
    """
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Returns a view with two dimensions swapped.

    Example:
        >>> weft.transpose(weft.zeros(2, 3, 5), 0, 2).shape
        weft.Size([5, 3, 2])
    """
def trunc(input: Tensor) -> Tensor:
    """Rounds each element toward zero.

    Example:
        >>> weft.trunc(weft.tensor([1.8, -1.8]))
        tensor([ 1., -1.])
    """
def trunc_(input: Tensor) -> Tensor:
    """Write the result of trunc over input and return it."""
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Returns views at every index of a dimension.

    Example:
        >>> weft.unbind(weft.tensor([[1, 2], [3, 4]]), dim=1)
        (tensor([1, 3]), tensor([2, 4]))
    """
def uniform(
    input: Tensor,
    low: _float = 0.0,
    high: _float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Draws a tensor like input from the uniform distribution on [low, high).

    Example:
        >>> _ = weft.manual_seed(0)
        >>> weft.zeros(2).uniform_(-1, 1)
        tensor([-0.0075,  0.5364])
    """
def uniform_(
    input: Tensor,
    low: _float = 0.0,
    high: _float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Write the result of uniform over input and return it."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Inserts a dimension of size 1.

    Example:
        >>> weft.unsqueeze(weft.zeros(3), 0).shape, weft.unsqueeze(weft.zeros(3), -1).shape
        (weft.Size([1, 3]), weft.Size([3, 1]))
    """
def var_(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: Tensor | _Number = 1,
    keepdim: _bool = False,
) -> Tensor:
    """Write the result of var over input and return it."""
@overload
def view(input: Tensor, size: _int | Sequence[_int]) -> Tensor:
    """Returns a view with other sizes.

    One size may be -1. The strides must allow it without a copy; otherwise use reshape.

    Example:
        >>> x = weft.zeros(2, 3)
        >>> x.view(-1)[0] = 1.0  # a view: it writes x
        >>> x
        tensor([[1., 0., 0.],
                [0., 0., 0.]])
    """
@overload
def view(input: Tensor, *size: _int) -> Tensor:
    """Returns a view with other sizes.

    One size may be -1. The strides must allow it without a copy; otherwise use reshape.

    Example:
        >>> x = weft.zeros(2, 3)
        >>> x.view(-1)[0] = 1.0  # a view: it writes x
        >>> x
        tensor([[1., 0., 0.],
                [0., 0., 0.]])
    """
def view_dtype(input: Tensor, dtype: _dtype) -> Tensor:
    """Returns a view of the bytes as elements of another dtype: `view` with a dtype.

    If those are smaller or larger, the last dimension, which must lie in a row, has more or
    fewer of them.

    Example:
        >>> weft.view_dtype(weft.ones(2), weft.int32)  # x.view(weft.int32)
        tensor([1065353216, 1065353216], dtype=weft.int32)
    """
def xlogy(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Computes input * log(other), which is 0 where input is 0 and other is a number.

    Example:
        >>> weft.xlogy(weft.tensor([0.0, 2.0]), weft.tensor([0.0, 3.0]))  # 0 where the first is 0
        tensor([0.0000, 2.1972])
    """
def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Write the result of xlogy over input and return it."""
def zero(input: Tensor) -> Tensor:
    """Returns a tensor of zeros like input; `x.zero_()` is its in-place form.

    Example:
        >>> weft.ones(2).zero_()
        tensor([0., 0.])
    """
def zero_(input: Tensor) -> Tensor:
    """Write the result of zero over input and return it."""
def zeros_like_(input: Tensor, *, dtype: _dtype | None = None) -> Tensor:
    """Write the result of zeros_like over input and return it."""
