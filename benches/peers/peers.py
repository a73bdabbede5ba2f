"""What peers do, beside sottovoce on the same machine and file. See README.md."""

import argparse
import math
import os
import resource
import subprocess
import tempfile
import time

ROUNDS = 5


def wall():
    return time.perf_counter()


def processor():
    """Processor time of this process, all threads, and of the commands that it has run."""
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in of)


def best(call, clocks):
    """The least time of several rounds by each clock."""
    rounds = []
    for _ in range(ROUNDS):
        starts = [clock() for clock in clocks]
        call()
        rounds.append([clock() - start for clock, start in zip(clocks, starts)])
    return [min(times) for times in zip(*rounds)]


def randomised(name, count, call):
    call()
    (seconds,) = best(call, [processor])
    print(f"  {name:<34} {count / seconds / 1e6:10.3f} M reports/s")


def numpy_baselines():
    import numpy as np

    rng = np.random.default_rng(1)

    def grr(a=64, epsilon=1.0, n=2_000_000):
        x = rng.integers(0, a, n)
        truth = rng.random(n) < math.exp(epsilon) / (math.exp(epsilon) + a - 1)
        other = rng.integers(0, a - 1, n)
        return np.where(truth, x, other + (other >= x))

    def oue(a=128, epsilon=1.0, n=50_000):
        bits = rng.random((n, a), dtype=np.float32) < 1 / (math.exp(epsilon) + 1)
        bits[np.arange(n), rng.integers(0, a, n)] = rng.random(n) < 0.5
        return np.packbits(bits, axis=1)

    randomised("numpy GRR(64)", 2_000_000, grr)
    randomised("numpy OUE(128)", 50_000, oue)


def pure_ldp():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    grr, oue = DEClient(epsilon=1, d=64), UEClient(epsilon=1, d=128, use_oue=True)
    randomised("pure-ldp GRR(64)", 20_000, lambda: [grr.privatise(i % 64 + 1) for i in range(20_000)])
    randomised("pure-ldp OUE(128)", 2_000, lambda: [oue.privatise(i % 128 + 1) for i in range(2_000)])


def multi_freq():
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    randomised("multi-freq-ldpy GRR(64)", 20_000, lambda: [GRR_Client(i % 64, 64, 1.0) for i in range(20_000)])
    randomised("multi-freq-ldpy OUE(128)", 5_000, lambda: [UE_Client(i % 128, 128, 1.0, True) for i in range(5_000)])


def opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    grr = dp.m.make_randomized_response(list(range(64)), math.e / (math.e + 63))
    randomised("OpenDP GRR(64)", 2_000, lambda: [grr(i % 64) for i in range(2_000)])


def tallied(name, count, call):
    call()
    seconds, work = best(call, [wall, processor])
    print(f"  {name:<34} {count / seconds / 1e6:10.1f} M reports/s, {count / work / 1e6:.1f} M a second of processor time")


def tallies(sottovoce):
    with tempfile.TemporaryDirectory() as directory:
        values, reports = os.path.join(directory, "values.csv"), os.path.join(directory, "reports.parquet")
        n = 10_000_000
        with open(values, "w") as file:
            file.write("value\n")
            block = "".join(f"{i % 64}\n" for i in range(100_000))
            for _ in range(n // 100_000):
                file.write(block)
        subprocess.run([sottovoce, "randomise", "-q", "-p", "grr:a=64,eps=1", values, "-o", reports], check=True)
        print(f"Tally of {n} GRR(64) reports from Parquet ({os.path.getsize(reports) / 1e6:.1f} MB), all threads")
        command = [sottovoce, "tally", "-q", reports, "-o", os.path.join(directory, "t.json")]
        tallied("sottovoce tally, whole process", n, lambda: subprocess.run(command, check=True))
        try:
            import duckdb

            query = f"SELECT report, count(*) FROM '{reports}' GROUP BY report"
            tallied("DuckDB, query only", n, lambda: duckdb.sql(query).fetchall())
        except ImportError:
            print("  duckdb is not installed")
        try:
            import polars

            tallied("Polars, query only", n, lambda: polars.scan_parquet(reports).group_by("report").len().collect())
        except ImportError:
            print("  polars is not installed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sottovoce", help="path of the command; without it, no tallies")
    arguments = parser.parse_args()
    print("Randomising, a second of processor time")
    for peer in (numpy_baselines, pure_ldp, multi_freq, opendp):
        try:
            peer()
        except Exception as problem:  # a peer that does not install or run is no failure of ours
            print(f"  {peer.__name__}: {type(problem).__name__}: {problem}")
    if arguments.sottovoce:
        tallies(arguments.sottovoce)


main()
