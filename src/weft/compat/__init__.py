"""Run PyTorch's scripts unchanged: `import torch` is answered with Weft.

`run_script` runs a script that way; `answering_torch` does it for a block of code.
"""

from weft.compat.finder import TorchIsLoadedError, answering_torch
from weft.compat.running import ScriptError, run_script

__all__ = ["ScriptError", "TorchIsLoadedError", "answering_torch", "run_script"]
