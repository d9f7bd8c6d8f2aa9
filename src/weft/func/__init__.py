"""Function transforms: derivatives, `vmap` and modules as functions, nested in any way."""

from weft._missing import explain_missing
from weft._vmap import vmap
from weft.func.derivatives import grad, grad_and_value, jvp, linearize, vjp
from weft.func.jacobians import hessian, jacfwd, jacrev
from weft.func.modules import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]

explain_missing(__name__)
