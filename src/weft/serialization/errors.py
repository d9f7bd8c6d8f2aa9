"""What can go wrong between objects and files."""

from __future__ import annotations


class LoadError(ValueError, RuntimeError):
    """A file that is damaged, cut short, or says things that cannot be true.

    Example:
        >>> import weft
        >>> import io
        >>> try:
        ...     weft.load(io.BytesIO(b"text"))
        ... except weft.serialization.LoadError as error:
        ...     print(str(error).split(";")[0])
        the BytesIO: neither a safetensors file nor a weight file of PyTorch's
    """


class RefusedError(LoadError):
    """A file that asks for something that is no data, such as a call of a function.

    Example:
        >>> import weft
        >>> issubclass(weft.serialization.RefusedError, weft.serialization.LoadError)
        True
    """


class SaveError(TypeError):
    """An object that has no place in a file; the message says where it lies.

    Example:
        >>> import weft
        >>> import io
        >>> try:
        ...     weft.save({"f": print}, io.BytesIO())
        ... except weft.serialization.SaveError as error:
        ...     print(str(error).split(".")[0])
        save(): the function print at ['f']
    """
