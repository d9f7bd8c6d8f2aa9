"""Save objects to files and load them back; read the weight files of other libraries."""

from weft._missing import explain_missing
from weft.serialization.api import load, save
from weft.serialization.errors import LoadError, RefusedError, SaveError

__all__ = ["LoadError", "RefusedError", "SaveError", "load", "save"]

explain_missing(__name__)
