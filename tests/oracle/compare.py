#!/usr/bin/env python3
"""compare.py - hold the schedules of a program against known ones, job by job.

    compare.py [--program PROGRAM] [--rows REGEX] DIR...

DIR/INDEX.csv names in each row a file of waits (`job_id,wait_s`; start = submit + wait_s), the trace
(in DIR or beside it), and what it was made with: procs, policy, priority, estimate and order. PROGRAM
is wafer-replay, or whatever takes its options; without one it is the reference. One TAP line for each
row: every job of the file starts when the file says, and no other job runs. Of a row that differs the
first difference is shown, first in time, with what ran then by the file.
"""
import argparse
import csv
import gzip
import os
import re
import subprocess
import sys
import tempfile

BACKFILL = {"fcfs": "none", "cons": "conservative"}  # others are called the same
ESTIMATES = {"req": "requested", "run": "actual"}
TIES = {"any": ["submit-first", "end-first", "end-first-held", "batch"]}
SHOWN_JOBS = 12


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def read_csv(path):
    with open_text(path) as lines:
        return list(csv.DictReader(lines))


def read_numbers(path, header):
    """The lines of a table of whole numbers, which may be long."""
    with open_text(path) as lines:
        if next(lines, "").strip() != header:
            raise ValueError(f"{path}: the first line is not {header}")
        return [tuple(map(int, line.split(","))) for line in lines]


def options_of(row, ties):
    return ["--systems", row["procs"], "--backfill", BACKFILL.get(row["policy"], row["policy"]),
            "--order", row["priority"], "--estimates", ESTIMATES[row["estimate"]], "--ties", ties]


def trace_of(directory, row):
    for folder in (directory, os.path.join(directory, os.pardir)):
        path = os.path.join(folder, row["trace"])
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{row['trace']}: not in {directory}, nor in the folder above")


def schedule_of(command):
    """What `command` --schedule writes: job id -> (submit, start, end, procs)."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "schedule.csv")
        done = subprocess.run(command + ["--schedule", path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-1000:]}")
        rows = read_numbers(path, "job_id,submit,start,end,procs")
    jobs = {row[0]: row[1:] for row in rows}
    if len(jobs) != len(rows):
        raise RuntimeError("the schedule names a job twice")
    return jobs


def describe(expected, jobs, systems, number):
    """Lines about the first difference: job `number`, of which `jobs` tells all but the start."""
    submit, got, end, procs = jobs[number]
    want = expected[number]
    yield f"job {number}: {procs} of {systems} systems for {end - got} s, submitted at {submit}"
    yield f"expected to start at {want}, got {got} ({got - want:+} s)"
    at = min(want, got)
    running = [(expected[other], expected[other] + last - first, width, other)
               for other, (_, first, last, width) in jobs.items()
               if other in expected and other != number
               and expected[other] <= at < expected[other] + last - first]
    used = sum(width for _, _, width, _ in running)
    waiting = sorted((jobs[other][0], other) for other in jobs
                     if other in expected and jobs[other][0] <= at < expected[other])
    yield f"at {at}, as expected: {used} of {systems} in use by {len(running)} jobs, {len(waiting)} wait"
    for first, last, width, other in sorted(running)[:SHOWN_JOBS]:
        yield f"  runs   job {other}: {width} systems on [{first}, {last})"
    for when, other in waiting[:SHOWN_JOBS]:
        yield f"  waits  job {other}: {jobs[other][3]} systems, submitted at {when}, starts at {expected[other]}"


def differences(waits, jobs, row):
    """Lines about what is wrong, none if all is equal."""
    missing = sorted(waits.keys() - jobs.keys())
    extra = sorted(jobs.keys() - waits.keys())
    if row["source"] == "rlscheduler":  # it leaves out the log's last job, which delays no other
        extra = [number for number in extra if number != max(jobs)]
    for numbers, what in ((missing, "do not run"), (extra, "run but should not")):
        if numbers:
            yield f"{len(numbers)} jobs {what}: " + ", ".join(map(str, numbers[:SHOWN_JOBS]))
    expected = {number: jobs[number][0] + wait for number, wait in waits.items() if number in jobs}
    different = [number for number in expected if jobs[number][1] != expected[number]]
    if different:
        yield f"{len(different)} of {len(expected)} jobs start at another time; the first:"
        first = min(different, key=lambda number: (min(expected[number], jobs[number][1]), number))
        yield from describe(expected, jobs, int(row["procs"]), first)


def check_row(program, directory, row):
    waits = dict(read_numbers(os.path.join(directory, row["file"]), "job_id,wait_s"))
    if not waits:
        yield "the file of expected waits is empty"
    for ties in TIES.get(row["order"], [row["order"]]):
        command = [program, trace_of(directory, row)] + options_of(row, ties)
        try:
            wrong = list(differences(waits, schedule_of(command), row))
        except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            wrong = [str(error)]
        if wrong:
            yield " ".join(command)
            yield from wrong


def main():
    parser = argparse.ArgumentParser(description="Hold schedules against known ones, job by job.")
    parser.add_argument("directories", nargs="+", metavar="DIR")
    parser.add_argument("--program", default=os.path.join(os.path.dirname(__file__), "reference.py"))
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose file matches")
    options = parser.parse_args()
    rows = [(directory, row) for directory in options.directories
            for row in read_csv(os.path.join(directory, "INDEX.csv"))
            if re.search(options.rows, row["file"])]
    print(f"1..{len(rows)}")
    failed = 0
    for number, (directory, row) in enumerate(rows, 1):
        wrong = list(check_row(options.program, directory, row))
        failed += bool(wrong)
        print("not ok" if wrong else "ok", number, "-",
              f"{row['trace']} on {row['procs']}: {row['policy']}, {row['priority']},"
              f" {row['estimate']}, {row['order']}: {row['source']}")
        for line in wrong:
            print("#", line.replace("\n", "\n# "))
        sys.stdout.flush()
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
