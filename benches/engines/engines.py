"""The same reports tallied by `sottovoce tally` and by engines, one after another in one run. See README.md.

Every engine has a process of its own, which is told apart from the others by its first argument. What it writes must be what `sottovoce tally` writes, to the byte.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import threading
import time
from datetime import date
from glob import glob
from pathlib import Path

FILES = 64
CASES = {"GRR(64)": ("grr:a=64,eps=1", 100_000_000), "OUE(128)": ("oue:a=128,eps=1", 10_000_000)}


def protocol(case):
    import sottovoce as sv

    return sv.protocol(CASES[case][0])


def write(case, n, place):
    """Files of reports. They follow from a test seed: nobody's values are in them."""
    import numpy

    q, values = protocol(case), numpy.random.default_rng(1)
    place.mkdir(parents=True)
    for file in range(FILES):
        rows = n * (file + 1) // FILES - n * file // FILES
        reports = q.randomise(values.integers(0, q.a, rows), insecure_test_seed=file)
        reports.save(place / f"{file:02}.parquet")


# What follows runs in the processes of the engines: from the path of the files to a tally, and when it was ready to begin.


def spark_session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local-cluster[2,1,2048]").config("spark.executor.memory", "2g")
    session = session.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def spark(pattern, case):
    import sottovoce.spark

    session, ready = spark_session(), time.time()
    return ready, sottovoce.spark.tally(session.read.parquet(os.path.dirname(pattern)))


def spark_files(pattern, case):
    import operator

    import sottovoce as sv

    session, ready = spark_session(), time.time()
    paths = session.sparkContext.parallelize(sorted(glob(pattern)), FILES)
    return ready, paths.map(sv.tally).treeReduce(operator.add)


def dask(pattern, case):
    import operator

    import dask.bag
    import distributed

    import sottovoce as sv

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster):
        ready = time.time()
        paths = dask.bag.from_sequence(sorted(glob(pattern)), partition_size=1)
        return ready, paths.map(sv.tally).fold(operator.add, split_every=8).compute()


def duckdb(pattern, case):
    import duckdb

    import sottovoce as sv

    q = protocol(case)
    part, ready = sv.PartialTally(q), time.time()
    columns = "report, filename, file_row_number"
    rows = duckdb.sql(f"select {columns} from read_parquet('{pattern}', filename = true, file_row_number = true)")
    for batch in rows.to_arrow_reader(1_000_000):
        part.update(batch, column="report", places=("filename", "file_row_number"))
    return ready, part.check(glob(pattern)).finish()


def polars(pattern, case):
    import polars

    import sottovoce as sv

    q = protocol(case)
    part, ready = sv.PartialTally(q), time.time()
    for path in glob(pattern):
        part.update(polars.read_parquet(path, columns=["report"]), file=path)
    return ready, part.check(glob(pattern)).finish()


ENGINES = {engine.__name__: engine for engine in (spark, spark_files, dask, duckdb, polars)}


def engine_process(name, pattern, case, output):
    ready, tally = ENGINES[name](pattern, case)
    counted = time.time() - ready
    tally.save(output)
    print(f"COUNTED {counted}", flush=True)


# What follows measures them.


def processor_times(root):
    """Seconds of processor time of a process and of those that descend from it, by process."""
    parents, times = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry)], times[int(entry)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    own = {root}
    while more := {child for child, parent in parents.items() if parent in own and child not in own}:
        own |= more
    return {process: times.get(process, 0.0) for process in own}


def measured(command):
    """Seconds by the wall, seconds of processor time of all processes, and what was printed."""
    start, before = time.time(), waited_for()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    spent, done = {}, threading.Event()

    def watch():
        while not done.wait(0.1):
            for one, seconds in processor_times(process.pid).items():
                spent[one] = max(spent.get(one, 0.0), seconds)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, problems = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{command}: {problems[-2000:]}")
    # Looking now and then misses what is short, and what was waited for leaves out processes that nobody waits for.
    return time.time() - start, max(sum(spent.values()), waited_for() - before), output


def waited_for():
    """Seconds of processor time of the processes that have ended, as far as somebody waited for them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def row(name, whole, counted, processor, n, same):
    rate = f"{n / counted / 1e6:.1f}"
    return f"| {name} | {whole:.1f} | {counted:.1f} | {processor:.1f} | {rate} | {'yes' if same else 'NO'} |"


def compare(case, n, arguments):
    place = arguments.place / f"{case}-{n}"
    if not place.exists():
        write(case, n, place)
    pattern, expected = str(place / "*.parquet"), arguments.place / "expected.json"
    lines = ["| engine | seconds | counting | processor seconds | million reports a second | same bytes |", "|---|---:|---:|---:|---:|---|"]
    files = sorted(glob(pattern))
    whole, processor, _ = measured([arguments.sottovoce, "tally", *files, "-o", str(expected)])
    lines.append(row("`sottovoce tally`", whole, whole, processor, n, True))
    output = arguments.place / "found.json"
    for name in ENGINES:
        if name in arguments.without:
            continue
        command = [sys.executable, __file__, "--engine", name, pattern, case, str(output)]
        whole, processor, printed = measured(command)
        counted = float(printed.rpartition("COUNTED ")[2])
        lines.append(row(name, whole, counted, processor, n, output.read_bytes() == expected.read_bytes()))
        output.unlink()
    if arguments.ballista:
        command = [part.format(files=pattern, output=output) for part in shlex.split(arguments.ballista)]
        whole, processor, _ = measured(command)
        lines.append(row("Ballista", whole, whole, processor, n, output.read_bytes() == expected.read_bytes()))
        output.unlink()
    tally = json.loads(expected.read_text())
    return [f"## {case}, {tally['n']:,} reports in {FILES} Parquet files", "", *lines, ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--sottovoce", default="sottovoce", help="the command")
    parser.add_argument("--place", type=Path, default=Path("engines-data"), help="where the files are, or are made")
    parser.add_argument("--share", type=float, default=1, help="share of the reports, for a machine that is busy")
    parser.add_argument("--without", nargs="*", default=[], choices=ENGINES, help="engines to leave out")
    parser.add_argument("--ballista", help="a command with {files} and {output}, for a cluster that runs already")
    arguments = parser.parse_args()
    if arguments.engine:
        return engine_process(*arguments.engine)
    print(f"{date.today()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} when it began\n")
    for case, (_, n) in CASES.items():
        print("\n".join(compare(case, int(n * arguments.share), arguments)), flush=True)


if __name__ == "__main__":
    main()
