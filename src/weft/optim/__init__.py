"""Optimizers, and schedulers of their learning rates."""

from weft._missing import explain_missing
from weft.optim import lr_scheduler, swa_utils
from weft.optim.adam import Adam, AdamW
from weft.optim.adam_kin import Adamax, NAdam, RAdam
from weft.optim.adaptive import Adagrad, RMSprop
from weft.optim.lbfgs import LBFGS
from weft.optim.optimizer import Optimizer
from weft.optim.sgd import SGD
from weft.optim.stepwise import ASGD, Adadelta, Rprop

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]

explain_missing(__name__)
