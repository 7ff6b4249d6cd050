"""Dense linear algebra and task graphs on all cores and GPUs of a machine.

`basalt.linalg` has functions with the names and arguments of `scipy.linalg`. `Runtime` runs graphs of Python functions
over NumPy arrays. `Matrix` is for matrices that stay in the runtime between factorizations.
"""

from . import _basalt, linalg
from ._basalt import Task
from ._errors import (BasaltError, Cancelled, DataError, DeviceError, LinAlgError, LinAlgWarning, PredecessorError,
                      TaskError)
from ._matrix import Factors, Matrix
from ._runtime import Runtime, default_runtime

__version__ = _basalt.version()
__all__ = ["BasaltError", "Cancelled", "DataError", "DeviceError", "Factors", "LinAlgError", "LinAlgWarning", "Matrix",
           "PredecessorError", "Runtime", "Task", "TaskError", "default_runtime", "linalg"]
