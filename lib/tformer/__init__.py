"""The library behind The Executable Transformer.

`tformer.reference` defines every function of the book in NumPy; `tformer.fast` has the same
functions, with the same names and arguments, in PyTorch. Importing `tformer` loads neither.
"""

__version__ = "0.2.0"
