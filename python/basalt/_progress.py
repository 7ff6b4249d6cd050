"""The line that shows how far a long calculation is."""

import sys
import time

_BETWEEN = 0.2  # seconds


class ProgressLine:
    """Writes tasks done, tasks submitted and seconds, on one line that it overwrites.

    In a notebook the line is a display that is updated, in a terminal it is on standard error. Elsewhere nothing is
    shown.
    """

    def __init__(self, stream=None):
        self._stream = stream if stream is not None else sys.stderr
        self._display = None if stream is not None else _notebook_display()
        self._last = 0.0
        self._width = 0

    def __call__(self, done, submitted, seconds):
        now = time.monotonic()
        ended = done >= submitted
        if not ended and now - self._last < _BETWEEN:
            return
        self._last = now
        share = 100 * done // max(submitted, 1)
        text = f"basalt: {done} of {submitted} tasks ({share} %), {seconds:.1f} s"
        if self._display is not None:
            self._display.update({"text/plain": text}, raw=True)
        elif self._stream.isatty():
            self._stream.write("\r" + text.ljust(self._width) + ("\n" if ended else ""))
            self._stream.flush()
            self._width = 0 if ended else len(text)


def _notebook_display():
    """A display of Jupyter's, or None outside of a notebook."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return None
    shell = get_ipython()
    if shell is None or shell.__class__.__name__ != "ZMQInteractiveShell":
        return None
    return display({"text/plain": ""}, raw=True, display_id=True)
