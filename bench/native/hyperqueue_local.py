"""Runs /bin/true many times in a local HyperQueue cluster (its PyPI wheel has no command line).

Prints seconds per task and CPU seconds of everything, tasks included. The wheel looks for the end
of a job once a second only, so that the time of the whole job would be rounded up to a second;
its progress, which it tells at the same moments, gives the rate it really had.
"""

import json
import os
import resource
import sys
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

directory, tasks, cpus = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.chdir(directory)


def cpu_seconds() -> float:
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, both))


with LocalCluster(server_dir=directory, worker_config=WorkerConfig(cores=cpus)) as cluster:
    client = cluster.client()
    job = Job()
    for _ in range(tasks):
        job.program(["/bin/true"])
    rates = []
    begin, cpu = time.perf_counter(), cpu_seconds()

    def progressed(jobs):
        finished = sum(each["finished"] for each in jobs.values())
        rates.append(finished / (time.perf_counter() - begin))

    submitted = client.submit(job)
    failed = client.connection.wait_for_jobs((submitted.id,), progressed)
    whole = tasks / (time.perf_counter() - begin)
    result = {"rate": max([whole, *rates]), "cpu": (cpu_seconds() - cpu) / tasks}
    print("result", json.dumps(result), flush=True)
    sys.exit(1 if failed else 0)
