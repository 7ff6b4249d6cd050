"""Runtimes and tasks."""

import atexit
import os
import threading
import weakref

import numpy as np

from . import _basalt
from ._progress import ProgressLine

_open = weakref.WeakSet()
_default = None
_lock = threading.Lock()


def _text(value):
    """A setting as the library reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    return str(value)


class Runtime:
    """Worker threads and GPUs that run tasks.

    Parameters
    ----------
    progress : bool or callable, optional
        Show how far long calculations of `basalt.linalg` are; or a function that is called with the numbers of tasks
        done and submitted and the seconds passed.
    **settings
        Fields of the library's configuration, such as ``workers=4``, ``gpus=0``, ``emulated_gpus=2``,
        ``gpu_memory="2G"``, ``policy="heft"``. Others come from the environment (``BASALT_WORKERS``, ...).

    Notes
    -----
    A runtime is a context manager: ``close()`` waits for its tasks and ends its threads. Waits release the GIL, and
    Ctrl-C cancels what has not begun. Runtimes may be used by all threads of a program.

    Examples
    --------
    >>> import basalt
    >>> import numpy as np
    >>> x, y = np.arange(4.0), np.zeros(4)
    >>> def double(source, target):
    ...     np.multiply(source, 2, out=target)
    >>> with basalt.Runtime(workers=2) as rt:
    ...     task = rt.submit(double, reads=[x], writes=[y])
    ...     ended = rt.wait()
    >>> y
    array([0., 2., 4., 6.])
    """

    def __init__(self, *, progress=False, **settings):
        known = _basalt.setting_names().split()
        for name in settings:
            if name not in known:
                raise TypeError(f"Runtime() has no setting {name!r}; there are: {', '.join(known)}")
        if progress:
            settings.setdefault("statistics", True)  # which counts the tasks that have run
        self._core = _basalt.Runtime({name: _text(value) for name, value in settings.items() if value is not None})
        if progress:
            self._core.progress = progress if callable(progress) else ProgressLine()
        _open.add(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self._core.cancel()
        try:
            if kind is None:
                self.wait()
        finally:
            self.close()

    def close(self):
        """Wait for the tasks, and end the runtime."""
        self._core.close()

    @property
    def closed(self):
        """Whether `close` was called."""
        return self._core.closed

    @property
    def workers(self):
        """Number of worker threads."""
        return self._core.workers

    @property
    def gpus(self):
        """Number of GPUs, emulated ones too."""
        return self._core.gpus

    def submit(self, function, *, reads=(), writes=(), args=(), name=None, priority=0, after=()):
        """Submit ``function(*reads, *writes, *args)`` as a task, and return at once.

        Tasks run in parallel as far as their arrays allow: a task waits for earlier ones that write what it uses, or
        use what it writes. Arrays are passed as they are, without copies. Views of one array that do not overlap, such
        as blocks of a matrix, are independent.

        Parameters
        ----------
        function : callable
            It is called with the GIL held, on any thread. NumPy and numba release the GIL in long operations.
        reads, writes : sequence of numpy.ndarray
            What the function reads, and what it writes or updates. Arrays in `writes` are writeable.
        args : sequence
            Further arguments, which order nothing.
        name : str, optional
            Shown in errors and traces. By default the function's name.
        priority : int, optional
            Among tasks that are ready, those of larger priority run first.
        after : sequence of Task
            Tasks to follow although they share no data.

        Returns
        -------
        Task

        Raises
        ------
        TypeError
            For what is no array.
        ValueError
            For an array in `writes` that is read-only.
        """
        reads, writes = tuple(reads), tuple(writes)
        for what, arrays in (("reads", reads), ("writes", writes)):
            for k, array in enumerate(arrays):
                if not isinstance(array, np.ndarray):
                    raise TypeError(f"{what}[{k}] is of type {type(array).__name__}; allowed are NumPy arrays")
        for k, array in enumerate(writes):
            if not array.flags.writeable:
                raise ValueError(f"writes[{k}] is read-only")
        if name is None:
            name = getattr(function, "__name__", "task")
        return _basalt.submit(self._core, function, reads, writes, reads + writes + tuple(args), name, priority,
                              list(after))

    def wait(self, timeout=None):
        """Wait for all tasks, and raise the first error of one of them.

        Parameters
        ----------
        timeout : float, optional
            Most seconds to wait.

        Returns
        -------
        bool
            False when the time ran out first.

        Raises
        ------
        TaskError
            A task failed; ``__cause__`` is what its function raised.
        Cancelled
            After `cancel`.
        """
        return self._core.wait(timeout)

    def cancel(self):
        """Drop the tasks that have not begun. The next `wait` raises `Cancelled`."""
        self._core.cancel()

    def start_trace(self):
        """Record what runs from now on."""
        self._core.start_trace()

    def write_trace(self, file):
        """Write what ran since `start_trace`, for ``basalt trace`` or Perfetto."""
        self._core.write_trace(str(file))


def default_runtime():
    """The runtime of `basalt.linalg` where none is given: made at the first call, with the environment's settings.
    A forked process makes one of its own.

    Examples
    --------
    >>> import basalt
    >>> basalt.default_runtime() is basalt.default_runtime()
    True
    """
    global _default
    if _default is None or _default.closed:
        with _lock:
            if _default is None or _default.closed:
                _default = Runtime()
    return _default


def _forget_inherited():
    """The threads of the parent's runtimes do not exist in a forked process."""
    global _default, _lock
    _default = None
    _lock = threading.Lock()  # a thread of the parent may have held the other
    _open.clear()


os.register_at_fork(after_in_child=_forget_inherited)


@atexit.register
def _close_all():
    """Python functions cannot run once the interpreter ends."""
    for runtime in list(_open):
        if not runtime.closed:
            runtime.cancel()
            runtime.close()
