"""Reports per second, randomised and tallied from a pandas column: sottovoce from Python, and its peers. See README.md.

Peers work on one value at a time in Python, and get fewer values, so that the run takes minutes. Each figure is the best of three rounds, by the clock on the wall; sottovoce uses all threads,
and its rate for each second of processor time is given too.
"""

import math
import time
from collections import Counter

import numpy
import pandas

ROUNDS = 3
CASES = {"GRR(64)": 64, "OUE(128)": 128, "LH(1024)": 1024}


def column(a, n):
    return pandas.Series(numpy.random.default_rng(1).integers(0, a, n))


def sottovoce():
    import sottovoce as sv

    protocols = {"GRR(64)": sv.grr(64, 1), "OUE(128)": sv.oue(128, 1), "LH(1024)": sv.lh(1024, 1)}

    def work(case, values):
        q = protocols[case]
        # The peers keep supports too, and not the reports.
        return q.tally(q.randomise(values), form="supports").n

    return {"GRR(64)": 2_000_000, "OUE(128)": 500_000, "LH(1024)": 50_000}, work


def pure_ldp():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    made = {
        "GRR(64)": lambda: (DEClient(epsilon=1, d=64), DEServer(epsilon=1, d=64)),
        "OUE(128)": lambda: (UEClient(epsilon=1, d=128, use_oue=True), UEServer(epsilon=1, d=128, use_oue=True)),
        "LH(1024)": lambda: (LHClient(epsilon=1, d=1024, use_olh=True), LHServer(epsilon=1, d=1024, use_olh=True)),
    }

    def work(case, values):
        client, server = made[case]()
        for value in values:
            server.aggregate(client.privatise(value + 1))

    return {"GRR(64)": 20_000, "OUE(128)": 2_000, "LH(1024)": 300}, work


def multi_freq_ldpy():
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    of = {
        "GRR(64)": lambda values: GRR_Aggregator_MI([GRR_Client(x, 64, 1.0) for x in values], 64, 1.0),
        "OUE(128)": lambda values: UE_Aggregator_MI([UE_Client(x, 128, 1.0, True) for x in values], 1.0, True),
        "LH(1024)": lambda values: LH_Aggregator_MI([LH_Client(x, 1024, 1.0, True) for x in values], 1024, 1.0, True),
    }
    return {"GRR(64)": 50_000, "OUE(128)": 20_000, "LH(1024)": 500}, lambda case, values: of[case](values)


def opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    respond = dp.m.make_randomized_response(list(range(64)), math.e / (math.e + 63))
    # It has no unary encoding at OUE's probabilities and no local hash.
    return {"GRR(64)": 5_000}, lambda _case, values: Counter(respond(int(x)) for x in values)


def measured(work, case, n):
    """Reports per second by the wall and by the processor, the best of some rounds after one to warm up."""
    values = column(CASES[case], n)
    work(case, values[: max(10, n // 20)])
    rounds = []
    for _ in range(ROUNDS):
        wall, processor = time.perf_counter(), time.process_time()
        work(case, values)
        rounds.append((n / (time.perf_counter() - wall), n / max(time.process_time() - processor, 1e-9)))
    return [max(rates) for rates in zip(*rounds)]


def main():
    own = {}
    for peer in (sottovoce, pure_ldp, multi_freq_ldpy, opendp):
        try:
            counts, work = peer()
        except Exception as problem:  # a peer that does not install or run is no failure of ours
            print(f"{peer.__name__:<16} does not run: {type(problem).__name__}: {problem}")
            continue
        for case, n in counts.items():
            try:
                wall, processor = measured(work, case, n)
            except Exception as problem:
                print(f"{peer.__name__:<16} {case:<9} does not run: {type(problem).__name__}: {problem}")
                continue
            if peer is sottovoce:
                own[case] = wall
                print(f"{peer.__name__:<16} {case:<9} {wall:>13,.0f} reports/s, {processor:,.0f} a second of processor time")
            else:
                print(f"{peer.__name__:<16} {case:<9} {wall:>13,.0f} reports/s; sottovoce is {own[case] / wall:,.0f} times as fast")


main()
