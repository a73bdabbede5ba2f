"""Long work: signals, threads, time, forks; and what an import costs."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import sottovoce as sv

SLOW = dict(n=10_000, metric="u_distr", method="monte_carlo", tolerance=1e-7)


def python(program, **more):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, **more)


@pytest.mark.parametrize(
    "work, has_report",
    [
        ("sv.oue(16, 1).metrics(n=10_000, metric='u_distr', method='monte_carlo', tolerance=1e-7)", True),
        ("sv.design(a=10, min_average_privacy=.7, tolerance=1e-12)", None),
        ("q.tally(q.randomise([5] * 3_000_000), form='supports')", False),
    ],
)
def test_ctrl_c_ends_long_work_within_a_second(work, has_report):
    program = f"""
        import os, signal, threading, time
        import sottovoce as sv
        q = sv.lh(4096, 1)
        pressed = []
        def press():
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(1.0, press).start()
        try:
            {work}
            print("finished")
        except sv.Interrupted as early:
            print(time.monotonic() - pressed[0], early.report is not None)
    """
    run = python(program, timeout=100)
    assert run.stdout != "finished\n" and run.returncode == 0, run.stderr
    took, found = run.stdout.split()
    # A second, and what a loaded machine adds.
    assert float(took) < 1.5
    assert has_report is None or found == str(has_report)


def test_other_threads_run_meanwhile():
    ticks = []

    def tick():
        while not done:
            ticks.append(None)
            time.sleep(0.01)

    done = []
    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(sv.TimeOver) as over, sv.limits(time=1, threads=1):
        sv.oue(16, 1).metrics(**SLOW)
    done.append(True)
    thread.join()
    assert len(ticks) > 20
    assert 0 < over.value.report["u_distr"] < 1 and over.value.report["u_distr"].error > 1e-7


def test_progress_is_shown_by_tqdm(capsys):
    pytest.importorskip("tqdm")
    with pytest.raises(sv.TimeOver), sv.limits(time=2, progress=True):
        sv.oue(16, 1).metrics(**SLOW)
    assert "i_y_p n=10000" in capsys.readouterr().err


def test_limits_are_checked():
    for bad in [dict(time=-1), dict(time=float("nan")), dict(threads=0), dict(memory=10_000)]:
        with pytest.raises(sv.SottovoceError), sv.limits(**bad):
            sv.matrix([[0.5] * 50] * 2).metrics()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork_both_processes_have_words_of_their_own():
    """Two processes with the same 64-byte reports would have the same generator; by chance that happens once in 2^500 times."""
    program = """
        import os, sottovoce as sv
        q = sv.oue(512, 1)
        q.randomise_one(1)
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, q.randomise_one(1))
            # Columns use threads, which a fork does not copy.
            assert q.tally(q.randomise([1] * 100_000)).n == 100_000
            os._exit(0)
        own = q.randomise_one(1)
        assert os.read(read, 64) != own
        assert os.wait()[1] == 0
        print("different")
    """
    run = python(program, timeout=60)
    assert run.stdout == "different\n", run.stderr


def test_an_import_is_quick_and_takes_nothing_along():
    loaded = python("import sys, sottovoce; print([m for m in ('numpy', 'pandas', 'pyarrow', 'matplotlib') if m in sys.modules])")
    assert loaded.stdout == "[]\n", loaded.stderr
    program = """
        import time
        start = time.process_time()
        import sottovoce
        print(time.process_time() - start)
    """
    assert min(float(python(program).stdout) for _ in range(5)) < 0.2


def test_one_report_at_a_time_is_quick():
    """A microsecond each by the processor's clock, with room for a loaded machine."""
    q = sv.grr(64, 1)

    def seconds():
        start, draw = time.process_time(), q.randomise_one
        for _ in range(100_000):
            draw(5)
        return time.process_time() - start

    assert min(seconds() for _ in range(5)) < 0.2


def test_sigterm_is_none_of_our_business():
    program = """
        import signal, os, threading
        import sottovoce as sv
        def ended(*_): raise SystemExit(3)
        signal.signal(signal.SIGTERM, ended)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
        sv.oue(16, 1).metrics(n=10_000, metric="u_distr", method="monte_carlo", tolerance=1e-7)
    """
    assert python(program, timeout=60).returncode == 3
    assert signal.getsignal(signal.SIGINT) is not None
