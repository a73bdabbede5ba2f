"""What peers do, beside sottovoce on the same machine and file. See README.md."""

import argparse
import math
import os
import subprocess
import tempfile
import time


def best(call, rounds=3):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def told(name, count, seconds):
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

    told("numpy GRR(64)", 2_000_000, best(grr))
    told("numpy OUE(128)", 50_000, best(oue))


def pure_ldp():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    grr, oue = DEClient(epsilon=1, d=64), UEClient(epsilon=1, d=128, use_oue=True)
    told("pure-ldp GRR(64)", 20_000, best(lambda: [grr.privatise(i % 64 + 1) for i in range(20_000)]))
    told("pure-ldp OUE(128)", 2_000, best(lambda: [oue.privatise(i % 128 + 1) for i in range(2_000)]))


def multi_freq():
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    GRR_Client(0, 64, 1.0), UE_Client(0, 128, 1.0, True)
    told("multi-freq-ldpy GRR(64)", 20_000, best(lambda: [GRR_Client(i % 64, 64, 1.0) for i in range(20_000)]))
    told("multi-freq-ldpy OUE(128)", 5_000, best(lambda: [UE_Client(i % 128, 128, 1.0, True) for i in range(5_000)]))


def tallies(sottovoce):
    with tempfile.TemporaryDirectory() as directory:
        values, reports = os.path.join(directory, "values.csv"), os.path.join(directory, "reports.parquet")
        n = 10_000_000
        with open(values, "w") as file:
            file.write("value\n")
            block = "".join(f"{i % 64}\n" for i in range(100_000))
            for _ in range(n // 100_000):
                file.write(block)
        start = time.perf_counter()
        subprocess.run([sottovoce, "randomise", "-q", "-p", "grr:a=64,eps=1", values, "-o", reports], check=True)
        told("sottovoce randomise GRR(64), files", n, time.perf_counter() - start)
        print(f"Tally of {n} GRR reports from Parquet ({os.path.getsize(reports) / 1e6:.1f} MB)")
        told("sottovoce tally, whole process", n, best(lambda: subprocess.run(
            [sottovoce, "tally", "-q", reports, "-o", os.path.join(directory, "t.json")], check=True), 5))
        try:
            import duckdb
            query = f"SELECT report, count(*) FROM '{reports}' GROUP BY report"
            told("DuckDB, query only", n, best(lambda: duckdb.sql(query).fetchall(), 5))
        except ImportError:
            print("  duckdb is not installed")
        try:
            import polars
            told("Polars, query only", n, best(
                lambda: polars.scan_parquet(reports).group_by("report").len().collect(), 5))
        except ImportError:
            print("  polars is not installed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sottovoce", help="path of the command; without it, no tallies")
    arguments = parser.parse_args()
    print("Randomising, one thread")
    for peer in (numpy_baselines, pure_ldp, multi_freq):
        try:
            peer()
        except Exception as problem:  # a peer that does not install or run is no failure of ours
            print(f"  {peer.__name__}: {type(problem).__name__}: {problem}")
    if arguments.sottovoce:
        tallies(arguments.sottovoce)


main()
