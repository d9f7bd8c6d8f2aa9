"""Which module of PyTorch is answered by what of Weft: plain data.

A source is a module, or "module:object"; the first that has a name answers it.
"""

from __future__ import annotations

_PROBES = "weft.compat.probes"

MODULES: dict[str, tuple[str, ...]] = {
    "torch": (f"{_PROBES}.top", f"{_PROBES}.saving", "weft", f"{_PROBES}.functions"),
    "torch.accelerator": (f"{_PROBES}.devices:accelerator",),
    "torch.amp": (f"{_PROBES}.amp",),
    "torch.amp.autocast_mode": (f"{_PROBES}.amp",),
    "torch.amp.grad_scaler": (f"{_PROBES}.amp",),
    "torch.autograd": ("weft.autograd", f"{_PROBES}.autograd"),
    "torch.autograd.anomaly_mode": ("weft.autograd",),
    "torch.autograd.function": ("weft.autograd.function", "weft.autograd"),
    "torch.autograd.functional": ("weft.autograd.functional",),
    "torch.autograd.grad_mode": ("weft.autograd.grad_mode", "weft.autograd"),
    "torch.autograd.gradcheck": ("weft.autograd.gradcheck",),
    "torch.autograd.graph": ("weft.autograd.graph",),
    "torch.autograd.profiler": (f"{_PROBES}.profiler",),
    "torch.autograd.variable": (f"{_PROBES}.autograd",),
    "torch.backends": (f"{_PROBES}.backends",),
    "torch.backends.cuda": (f"{_PROBES}.backends:cuda",),
    "torch.backends.cudnn": (f"{_PROBES}.backends:cudnn",),
    "torch.backends.mkl": (f"{_PROBES}.backends:mkl",),
    "torch.backends.mkldnn": (f"{_PROBES}.backends:mkldnn",),
    "torch.backends.mps": (f"{_PROBES}.backends:mps",),
    "torch.backends.openmp": (f"{_PROBES}.backends:openmp",),
    "torch.cpu": (f"{_PROBES}.devices:cpu",),
    "torch.cpu.amp": (f"{_PROBES}.amp",),
    "torch.cuda": (f"{_PROBES}.cuda",),
    "torch.cuda.amp": (f"{_PROBES}.amp:cuda",),
    "torch.cuda.random": (f"{_PROBES}.cuda",),
    "torch.distributed": (f"{_PROBES}.distributed",),
    "torch.distributions": ("weft.distributions",),
    "torch.fft": ("weft.fft",),
    "torch.func": ("weft.func",),
    "torch.functional": ("weft",),
    "torch.jit": (f"{_PROBES}.jit",),
    "torch.linalg": ("weft.functional.linalg",),
    "torch.masked": ("weft.functional.masked",),
    "torch.mps": (f"{_PROBES}.devices:mps",),
    "torch.multiprocessing": (f"{_PROBES}.processes", "multiprocessing"),
    "torch.nn": ("weft.nn", f"{_PROBES}.parallel"),
    "torch.nn.attention": (f"{_PROBES}.attention",),
    "torch.nn.functional": ("weft.nn.functional",),
    "torch.nn.init": ("weft.nn.init", f"{_PROBES}.old_names"),
    "torch.nn.modules": ("weft.nn",),
    "torch.nn.parallel": (f"{_PROBES}.parallel",),
    "torch.nn.parallel.distributed": (f"{_PROBES}.parallel",),
    "torch.nn.parameter": ("weft.nn.parameter", "weft.nn"),
    "torch.nn.utils": ("weft.nn.utils", f"{_PROBES}.old_names"),
    "torch.nn.utils.clip_grad": ("weft.nn.utils.clip_grad",),
    "torch.nn.utils.convert_parameters": ("weft.nn.utils.convert_parameters",),
    "torch.nn.utils.fusion": ("weft.nn.utils.fusion",),
    "torch.nn.utils.parametrizations": ("weft.nn.utils.parametrizations",),
    "torch.nn.utils.parametrize": ("weft.nn.utils.parametrize",),
    "torch.nn.utils.prune": ("weft.nn.utils.prune",),
    "torch.nn.utils.rnn": ("weft.nn.utils.rnn",),
    "torch.nn.utils.stateless": ("weft.nn.utils.stateless",),
    "torch.nn.utils.spectral_norm": ("weft.nn.utils.weight_norm",),
    "torch.nn.utils.weight_norm": ("weft.nn.utils.weight_norm",),
    "torch.onnx": (f"{_PROBES}.onnx",),
    "torch.optim": ("weft.optim",),
    "torch.optim.lr_scheduler": ("weft.optim.lr_scheduler",),
    "torch.optim.swa_utils": ("weft.optim.swa_utils",),
    "torch.profiler": (f"{_PROBES}.profiler",),
    "torch.random": ("weft.random",),
    "torch.return_types": ("weft.functional.return_types",),
    "torch.serialization": (f"{_PROBES}.saving", "weft.serialization", "weft"),
    "torch.signal": ("weft.functional.signal",),
    "torch.signal.windows": ("weft.functional.windows",),
    "torch.special": ("weft.functional.special",),
    "torch.testing": (f"{_PROBES}.testing",),
    "torch.types": (f"{_PROBES}.types",),
    "torch.utils": ("weft.utils",),
    "torch.utils.benchmark": (f"{_PROBES}.benchmark",),
    "torch.utils.checkpoint": ("weft.utils.checkpoint",),
    "torch.utils.data": ("weft.utils.data",),
    "torch.utils.dlpack": (f"{_PROBES}.interchange",),
    "torch.version": (f"{_PROBES}.version",),
    "torch.xpu": (f"{_PROBES}.devices:xpu",),
}

# Files of PyTorch that scripts import from although the folder has the same names.
_FILES = {
    "torch.distributions": (
        "bernoulli beta binomial categorical dirichlet distribution exponential gamma gumbel "
        "half_normal independent kl laplace log_normal mixture_same_family multinomial "
        "multivariate_normal normal one_hot_categorical poisson relaxed_bernoulli "
        "relaxed_categorical transformed_distribution transforms uniform constraints utils"
    ),
    "torch.nn.modules": (
        "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold "
        "instancenorm linear loss module normalization padding pixelshuffle pooling rnn sparse "
        "transformer upsampling utils"
    ),
    "torch.optim": (
        "adadelta adagrad adam adamax adamw asgd lbfgs nadam optimizer radam rmsprop rprop sgd"
    ),
    "torch.utils.data": "dataloader dataset sampler",
}
for _folder, _names in _FILES.items():
    for _name in _names.split():
        _own = f"{MODULES[_folder][0]}.{_name}"
        MODULES[f"{_folder}.{_name}"] = (_own, *MODULES[_folder])

_BUILT_ON_TORCH = (
    "{} is compiled against PyTorch itself and cannot run on Weft; {} without it, or run the "
    "script with PyTorch."
)
# Packages that need PyTorch's own binaries.
FOREIGN: dict[str, str] = {
    "torchaudio": _BUILT_ON_TORCH.format("torchaudio", "read the audio"),
    "torchtext": _BUILT_ON_TORCH.format("torchtext", "read the text"),
    "torchvision": _BUILT_ON_TORCH.format("torchvision", "load the images or build the model"),
}
