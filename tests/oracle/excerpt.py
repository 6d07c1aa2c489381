#!/usr/bin/env python3
"""excerpt.py - make a small workload and, with reference.py, every schedule of it.

    excerpt.py DIR    write DIR/excerpt.swf, DIR/INDEX.csv and DIR/*.csv

The same bytes each time. The workload is made to be awkward: times on a coarse grid, so that ends and
submissions share their second; equal sizes and estimates; runs on, below and above the request; lines
that are no jobs; lines that are not in the order of submission.
"""
import itertools
import os
import random
import sys

import reference

SYSTEMS = 64
LINES = 320
SEED = 81

HEADER = """; A synthetic workload, made by excerpt.py.
; MaxProcs: 64
; Columns: id submit wait run procs cpu mem procs-requested time-requested mem-requested status user group
;          program queue partition after think-time; -1 is unknown
"""


def pick(chance, weighted):
    """One of the pairs (weight, value). Only random() gives the same numbers in every Python."""
    at = chance.random() * sum(weight for weight, value in weighted)
    for weight, value in weighted:
        at -= weight
        if at < 0:
            break
    return value


def lines():
    chance = random.Random(SEED)
    submit = 0
    for number in range(1, LINES + 1):
        submit += pick(chance, [(8, 0), (5, 300), (3, 600), (1, 1500), (1, 7)])
        procs = pick(chance, [(4, 1), (3, 2), (3, 4), (4, 8), (3, 16), (2, 32), (1, 64), (2, 3), (3, 11),
                              (2, 24), (1, 50)])
        request = pick(chance, [(4, 300), (4, 600), (3, 900), (3, 1800), (2, 3600), (1, 6000), (1, 1)])
        run = pick(chance, [(5, request), (3, max(1, request - 300)), (2, request // 3 + 1),
                            (1, request + 60), (1, 1 + int(chance.random() * request)), (1, 300)])
        allocated, late = procs, 0
        kind = pick(chance, [(40, ""), (1, "no run"), (1, "no request"), (1, "too large"), (1, "no size"),
                             (2, "allocated only"), (1, "too large when allocated"), (3, "late line")])
        if kind == "no run":
            run = 0
        elif kind == "no request":
            request = -1
        elif kind == "too large":
            procs = SYSTEMS + 1
        elif kind == "no size":
            procs, allocated = -1, 0
        elif kind == "allocated only":
            procs = -1
        elif kind == "too large when allocated":
            allocated = 2 * SYSTEMS
        elif kind == "late line":
            late = 60
        user, queue = 1 + int(chance.random() * 9), int(chance.random() * 3)
        yield (f"{number:5} {max(0, submit - late):7} -1 {run:5} {allocated:3} -1 -1 {procs:3} {request:5}"
               f" -1 1 {user} -1 -1 {queue} -1 -1 -1")


def schedules():
    for policy, priority in [("fcfs", "fcfs"), ("easy", "fcfs"), ("easy-sjbf", "fcfs"),
                             ("cons", "fcfs"), ("easy", "sjf"), ("easy", "wfp")]:
        for estimate, ties in itertools.product(
                ["req", "run"], ["submit-first", "end-first", "end-first-held", "batch"]):
            yield policy, priority, estimate, ties


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    trace = os.path.join(directory, "excerpt.swf")
    with open(trace, "w") as out:
        out.write(HEADER)
        for line in lines():
            print(line, file=out)
    with open(os.path.join(directory, "INDEX.csv"), "w") as index:
        print("file,trace,procs,policy,priority,estimate,order,source", file=index)
        for policy, priority, estimate, ties in schedules():
            name = f"{policy}.{priority}.{estimate}.{ties}.csv"
            jobs = reference.read_trace(
                trace, SYSTEMS, {"req": "requested", "run": "actual"}[estimate])
            backfill = {"fcfs": "none", "cons": "conservative"}.get(policy, policy)
            reference.replay(jobs, SYSTEMS, backfill, priority, ties)
            with open(os.path.join(directory, name), "w") as out:
                print("job_id,wait_s", file=out)
                for job in sorted(jobs, key=lambda job: job.number):
                    print(job.number, job.start - job.submit, sep=",", file=out)
            print(name, "excerpt.swf", SYSTEMS, policy, priority, estimate, ties, "reference",
                  sep=",", file=index)


if __name__ == "__main__":
    main()
