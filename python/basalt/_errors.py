"""Exceptions of the runtime. Arguments that are not allowed raise ValueError or TypeError."""

import warnings  # noqa: F401  (LinAlgWarning is a warning)

import numpy as np

__all__ = ["BasaltError", "TaskError", "DataError", "PredecessorError", "DeviceError", "Cancelled", "LinAlgError",
           "LinAlgWarning"]

LinAlgError = np.linalg.LinAlgError  # SciPy's is the same class

try:
    from scipy.linalg import LinAlgWarning
except ImportError:

    class LinAlgWarning(RuntimeWarning):
        """A matrix is so ill-conditioned that results may have no correct digit. SciPy's class where there is SciPy."""


class BasaltError(RuntimeError):
    """What the runtime raises."""


class TaskError(BasaltError):
    """A task failed. ``__cause__`` is what its function raised."""


class DataError(BasaltError):
    """Data have no valid contents: the task that should have written them failed or was cancelled."""


class PredecessorError(BasaltError):
    """A task did not run because one that it follows failed."""


class DeviceError(BasaltError):
    """A GPU failed or ran out of memory."""


class Cancelled(BasaltError):
    """Tasks were dropped by ``cancel()``."""


for _error in (BasaltError, TaskError, DataError, PredecessorError, DeviceError, Cancelled):
    _error.__module__ = "basalt"
