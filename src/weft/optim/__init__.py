"""Optimizers, and schedulers of their learning rates."""

from weft.optim import lr_scheduler
from weft.optim.adam import Adam, AdamW
from weft.optim.adaptive import Adagrad, RMSprop
from weft.optim.optimizer import Optimizer
from weft.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
