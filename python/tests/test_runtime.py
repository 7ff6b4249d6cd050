"""Graphs of Python functions, waits, errors, Ctrl-C and progress."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import basalt


@pytest.fixture
def rt():
    with basalt.Runtime(workers=2) as runtime:
        yield runtime


def add_one(x):
    x += 1


def test_tasks_follow_their_arrays(rt):
    x, y, z = np.zeros(100), np.zeros(100), np.zeros(1)

    def total(x, y, z):
        z[0] = x.sum() + y.sum()

    for _ in range(50):
        rt.submit(add_one, writes=[x])
        rt.submit(add_one, writes=[y])
        rt.submit(total, reads=[x, y], writes=[z])
    assert rt.wait() is True
    assert z[0] == 2 * 50 * 100


def test_functions_get_the_arrays_themselves_without_copies(rt):
    x, y = np.arange(6.0).reshape(2, 3), np.zeros(3)
    seen = []
    rt.submit(lambda *views: seen.extend(views), reads=[x[1]], writes=[y], args=["extra"])
    rt.wait()
    assert seen[0].__array_interface__["data"][0] == x[1].__array_interface__["data"][0]
    assert seen[1] is y and seen[2] == "extra"


def begin_together(rt, views):
    """Whether tasks on these views run at the same time: each waits until the other one has begun."""
    barrier = threading.Barrier(len(views), timeout=0.4)
    met = []

    def meet(view):
        try:
            barrier.wait()
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)

    for view in views:
        rt.submit(meet, writes=[view])
    # the main thread may be one of those that run tasks
    rt.wait()
    return all(met)


@pytest.mark.parametrize("order", "CF")
def test_views_that_do_not_overlap_are_independent(order):
    with basalt.Runtime(workers=3) as rt:
        a = np.zeros((8, 8), order=order)
        assert begin_together(rt, [a[:4, :4], a[4:, :4]])
        assert begin_together(rt, [a[:4, :4], a[:4, 4:]])
        assert begin_together(rt, [a[:, 0], a[:, 1]])
        assert begin_together(rt, [a[0], a[1]])
        flat = np.zeros(16)
        assert begin_together(rt, [flat[:8], flat[8:]])
        assert not begin_together(rt, [a[:5, :5], a[4:, 4:]])
        assert not begin_together(rt, [a[::2], a[1::2]])  # boxes overlap
        assert not begin_together(rt, [a.T[0], a[:, :]])
        assert not begin_together(rt, [flat[:9], flat[8:]])


def test_all_kinds_of_views_order_tasks(rt):
    rng = np.random.default_rng(2)
    base = np.zeros((6, 5, 4))
    expected = base.copy()
    views = [lambda b: b[1], lambda b: b[:, 2], lambda b: b[..., ::-1], lambda b: b[::2, 1:3, 3], lambda b: b.T,
             lambda b: b.reshape(-1)[7:90:3], lambda b: b[::-1, ::-1], lambda b: b[2, 2, 2:3]]
    for step in range(200):
        view = views[rng.integers(len(views))]
        value = float(step)

        def update(x, value=value):
            x *= 0.5
            x += value

        rt.submit(update, writes=[view(base)])
        update(view(expected))
    rt.wait()
    np.testing.assert_array_equal(base, expected)


def test_two_roots_on_one_memory_are_ordered(rt):
    memory = bytearray(800)
    one, other = np.frombuffer(memory), np.frombuffer(memory)[10:]
    for _ in range(20):
        rt.submit(add_one, writes=[one])
        rt.submit(add_one, writes=[other])
    rt.wait()
    assert one[0] == 20 and one[50] == 40


def test_results_handles_and_order_without_data(rt):
    log = []
    first = rt.submit(lambda: (time.sleep(0.05), log.append(1), 42)[-1], name="first")
    second = rt.submit(lambda: log.append(2), after=[first], priority=3)
    assert second.result() is None and first.result() == 42
    assert log == [1, 2] and first.done
    slow = rt.submit(lambda: time.sleep(0.3))
    assert slow.wait(0.01) is False and rt.wait(0) is False
    assert slow.wait(10) is True


def test_errors_keep_what_the_function_raised(rt):
    def fails(x):
        raise KeyError("the key")

    x = np.zeros(3)
    task = rt.submit(fails, writes=[x], name="lookup")
    with pytest.raises(basalt.TaskError, match="lookup.*KeyError") as caught:
        task.result()
    assert isinstance(caught.value.__cause__, KeyError) and isinstance(caught.value, basalt.BasaltError)
    rt.submit(add_one, writes=[x])
    with pytest.raises(basalt.TaskError):
        rt.wait()
    rt.submit(add_one, writes=[x])  # usable afterwards, and so is the array
    rt.wait()
    assert x[0] == 1


def test_cancel_drops_tasks():
    with basalt.Runtime(workers=1) as rt:
        ran = []
        x = np.zeros(1)
        rt.submit(lambda x: time.sleep(0.2), writes=[x])
        for _ in range(20):
            rt.submit(lambda x: ran.append(1), writes=[x])
        rt.cancel()
        with pytest.raises(basalt.Cancelled):
            rt.wait()
        assert not ran


def test_misuse_is_named(rt):
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r"writes\[1\] is read-only"):
        rt.submit(add_one, writes=[np.zeros(3), frozen])
    with pytest.raises(TypeError, match=r"reads\[0\] is of type list"):
        rt.submit(add_one, reads=[[1, 2]])
    with pytest.raises(TypeError):
        rt.submit(add_one, after=[3])
    with pytest.raises(ValueError, match="timeout"):
        rt.wait(-1)
    closed = basalt.Runtime(workers=1)
    closed.close()
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        closed.wait()
    with basalt.Runtime(workers=1) as other:
        foreign = other.submit(lambda: None)
        with pytest.raises(ValueError, match="runtime"):
            rt.submit(lambda: None, after=[foreign])


def test_tasks_may_submit_and_calculate(rt):
    a = np.eye(30) * 2
    x = np.zeros(30)

    def solve(x):
        x[:] = basalt.linalg.solve(a, np.ones(30), runtime=rt)
        rt.submit(add_one, writes=[x])
        rt.wait()

    rt.submit(solve, writes=[x])
    rt.wait()
    np.testing.assert_array_equal(x, 1.5)


def test_the_gil_is_free_during_waits(rt):
    counted = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    rt.submit(lambda: time.sleep(0.3))
    rt.wait()
    stop.set()
    thread.join()
    assert len(counted) > 30


def test_threads_use_one_runtime(rt):
    a = np.random.default_rng(0).standard_normal((60, 60)) + 8 * np.eye(60)
    b = np.ones(60)
    expected = np.linalg.solve(a, b)
    wrong = []

    def work():
        for _ in range(20):
            if not np.allclose(basalt.linalg.solve(a, b, runtime=rt), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def run_python(code, **options):
    return subprocess.Popen([sys.executable, "-u", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def in_forked_process(function):
    """What it returns there; a process that hangs fails."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    process = context.Process(target=lambda: results.put(function()))
    process.start()
    process.join(60)
    hangs = process.is_alive()
    process.kill()
    assert not hangs
    assert process.exitcode == 0
    return results.get()


def test_forked_processes_have_runtimes_of_their_own(rt, monkeypatch):
    monkeypatch.setenv("BASALT_GPUS", "0")  # CUDA does not work in a forked process
    a = 2 * np.eye(3)
    basalt.linalg.solve(a, np.ones(3))  # the parent's default runtime
    inherited = basalt.Matrix(a, runtime=rt)
    task = rt.submit(add_one, writes=[np.zeros(1)])

    def use():
        errors = []
        for call in (rt.wait, inherited.numpy, task.result):
            try:
                call()
            except Exception as error:
                errors.append(str(error))
        x = np.zeros(3)
        with basalt.Runtime(workers=2) as own:
            own.submit(add_one, writes=[x])
            own.wait()
        return errors, x[0] + basalt.linalg.solve(a, np.ones(3))[0]

    errors, result = in_forked_process(use)
    assert len(errors) == 3 and all("made before fork()" in error for error in errors)
    assert result == 1.5
    assert basalt.linalg.solve(a, np.ones(3))[0] == 0.5
    assert inherited.numpy()[0, 0] == 2


@pytest.mark.parametrize("work", ["rt.submit(time.sleep, args=[0.5]); [rt.submit(time.sleep, args=[2]) for _ in range(40)]; rt.wait()",
                                  "basalt.linalg.qr(np.random.default_rng(0).standard_normal((7000, 7000)), runtime=rt)"])
def test_ctrl_c_cancels(work):
    process = run_python(f"""
        import time, numpy as np, basalt
        rt = basalt.Runtime(workers=1)
        basalt.linalg.solve(np.eye(3), np.ones(3), runtime=rt)
        print("begun")
        try:
            {work}
        except KeyboardInterrupt:
            print("interrupted")
        x = np.zeros(3)
        def one(x): x += 1
        rt.submit(one, writes=[x]); rt.wait()
        print(x[0])
    """)
    assert process.stdout.readline() == "begun\n"
    time.sleep(1.2)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted\n1.0\n", err
    assert time.monotonic() - started < 12
    assert process.returncode == 0, err


def test_a_program_may_end_with_tasks_in_flight():
    process = run_python("""
        import time, basalt
        rt = basalt.Runtime(workers=2)
        for _ in range(100):
            rt.submit(time.sleep, args=[0.2])
    """)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err


def test_progress_is_called_and_shown(capsys):
    calls = []
    with basalt.Runtime(workers=2, progress=lambda *numbers: calls.append(numbers)) as rt:
        basalt.linalg.solve(np.eye(1200) * 2 + 0.001, np.ones(1200), runtime=rt)
    assert calls and calls[-1][0] <= calls[-1][1] and calls[-1][2] > 0

    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    from basalt._progress import ProgressLine

    terminal = Terminal()
    line = ProgressLine(terminal)
    line(5, 10, 1.0)
    line(10, 10, 2.0)
    assert "5 of 10 tasks (50 %)" in terminal.text and terminal.text.endswith("\n")


def test_traces_are_written(rt, tmp_path):
    rt.start_trace()
    rt.submit(add_one, writes=[np.zeros(3)])
    rt.wait()
    rt.write_trace(tmp_path / "trace.json")
    assert "add_one" in (tmp_path / "trace.json").read_text()


def test_settings_are_keyword_arguments():
    with basalt.Runtime(workers=3, emulated_gpus=1, gpu_memory="64M", bind=False, policy="heft") as rt:
        assert rt.workers == 3 and rt.gpus == 1
        a = np.random.default_rng(0).standard_normal((300, 300))
        np.testing.assert_allclose(basalt.linalg.solve(a, np.ones(300), runtime=rt), np.linalg.solve(a, np.ones(300)),
                                   rtol=1e-8, atol=1e-9)


def test_a_default_runtime_is_made_once_and_again_after_close():
    first = basalt.default_runtime()
    assert basalt.default_runtime() is first
    first.close()
    assert basalt.default_runtime() is not first


def test_calls_cost_little():
    """What the binding adds is measured by bench/python/overhead.py; this bound only finds a mistake."""
    with basalt.Runtime(workers=1) as rt:
        begin = time.perf_counter()
        for _ in range(2000):
            rt.wait(0)
        assert time.perf_counter() - begin < 2000 * 100e-6


def test_examples_of_the_docstrings():
    import doctest

    from basalt import _matrix, _runtime

    for module in (_matrix, _runtime, basalt.linalg):
        failed, tried = doctest.testmod(module)
        assert tried > 0 and failed == 0
    assert os.path.exists(os.path.join(os.path.dirname(basalt.__file__), "py.typed"))
