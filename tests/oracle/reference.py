#!/usr/bin/env python3
"""reference.py - the schedules that `wafer replay` must give, worked out slowly and plainly.

    reference.py TRACE --systems N [--backfill none|easy|easy-sjbf|conservative]
                 [--order fcfs|sjf|wfp] [--estimates requested|actual]
                 [--ties submit-first|end-first|end-first-held|batch] [--schedule OUT.csv]

Written from the definitions below and from no other program, so that the two can be held against
each other job by job. Where both could be fast or obvious, this one is obvious.

Reading   SWF, plain or gzip; columns count from 1. A job's processors are column 8, or column 5 where
          that is not positive. Not jobs: no processors; column 5 or 8 above the machine; run (4) or
          request (9) not positive; submit (2) negative. A log without any request takes the run as
          each. A job over its request is killed at it: run = min(run, request).
Time      Whole seconds. A job holds its processors on [start, start + run). The scheduler knows its
          estimate alone: the request, or the run with --estimates actual.
Queue     By submission, then by place in the log. sjf (score -estimate) and wfp (score
          (wait / estimate)^3 * processors) sort it before each pass, highest score first; equal
          scores stay as they were.
none      The head starts when it fits; nothing passes it.
easy      When the head does not fit it has one reservation: the first estimated end by which it fits,
          all that end at that instant counted. `spare` is what is free then beside the head. One pass
          over the rest in queue order: a job that fits now starts if it ends by the reservation, or if
          it needs no more than `spare`, which it then uses up.
easy-sjbf The same, the rest taken shortest estimate first.
conservative
          Each job reserves the earliest hole when it is submitted. At each end, early or not, the
          waiting jobs in queue order give back their reservation, one at a time, and take the
          earliest one from now on; one that is due now stays, and none moves to a later time. Ends
          that share a pass are one such round.
Ties      What one instant holds is handled in this order, with one pass after each event:
          submit-first    submissions in queue order, then ends
          end-first       ends, then submissions in queue order; in both, the ends that fall on their
                          estimate have given back their processors before the first pass
          end-first-held  the same, each end holding its processors until its turn
          batch           all ends, all submissions, and one pass for them together
          Ends come in the order in which their jobs started. A job at its estimate whose end waits
          for its turn holds its processors, but is expected to go in this same instant.
"""
import argparse
import bisect
import gzip
import sys


class Job:
    def __init__(self, number, submit, run, procs, estimate):
        self.number = number  # as the log calls it
        self.submit = submit
        self.run = run
        self.procs = procs
        self.estimate = estimate
        self.start = None
        self.reservation = None  # conservative: when it is to start

    def end(self):
        return self.start + self.run

    def estimated_end(self):
        return self.start + self.estimate


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def read_trace(path, systems, estimates):
    """The jobs of an SWF log that run at all, in queue order."""
    with open_text(path) as log:
        lines = [[int(float(field)) for field in line.split()] for line in log
                 if line.strip() and not line.startswith(";")]
    no_requests = all(line[8] <= 0 for line in lines)
    jobs = []
    for line in lines:
        number, submit, run, allocated, requested = line[0], line[1], line[3], line[4], line[7]
        limit = run if no_requests else line[8]
        procs = requested if requested > 0 else allocated
        if procs <= 0 or max(allocated, requested) > systems:
            continue
        if run <= 0 or limit <= 0 or submit < 0:
            continue
        run = min(run, limit)
        jobs.append(Job(number, submit, run, procs, run if estimates == "actual" else limit))
    jobs.sort(key=lambda job: job.submit)  # stable: then by place in the log
    return jobs


class Pool:
    """What runs now, and who waits."""

    def __init__(self, systems, order):
        self.free = systems
        self.order = order
        self.running = []  # in the order in which they started; until the end is handled
        self.queue = []

    def sort_queue(self, now):
        if self.order == "sjf":
            self.queue.sort(key=lambda job: job.estimate)
        elif self.order == "wfp":
            self.queue.sort(key=lambda job: -(((now - job.submit) / job.estimate) ** 3 * job.procs))

    def start(self, job, now):
        assert job.procs <= self.free
        self.queue.remove(job)
        self.running.append(job)
        self.free -= job.procs
        job.start = now

    def release(self, job):
        self.running.remove(job)
        self.free += job.procs


class NoBackfill:
    def __init__(self, pool):
        self.pool = pool

    def submitted(self, job, now):
        pass

    def ended(self, job, now):
        pass

    def reservations(self):
        """When, beside submissions and ends, something is due."""
        return []

    def schedule(self, now, after_end):
        """One pass; `after_end` if a job ended since the last."""
        pool = self.pool
        pool.sort_queue(now)
        while pool.queue and pool.queue[0].procs <= pool.free:
            pool.start(pool.queue[0], now)


class Easy(NoBackfill):
    def candidates(self):
        return self.pool.queue[1:]

    def schedule(self, now, after_end):
        super().schedule(now, after_end)
        pool = self.pool
        if not pool.queue:
            return
        reservation, spare = self.reserve(pool.queue[0])
        for job in self.candidates():
            if job.procs > pool.free:
                continue
            if now + job.estimate <= reservation:
                pool.start(job, now)
            elif job.procs <= spare:
                spare -= job.procs
                pool.start(job, now)

    def reserve(self, head):
        """When the head fits by the estimates of what runs, and what is free then beside it."""
        free = self.pool.free
        reservation = None
        for job in sorted(self.pool.running, key=Job.estimated_end):
            if reservation is not None and job.estimated_end() > reservation:
                break
            free += job.procs
            if free >= head.procs:
                reservation = job.estimated_end()
        return reservation, free - head.procs


class EasyShortestFirst(Easy):
    def candidates(self):
        return sorted(self.pool.queue[1:], key=lambda job: job.estimate)


class Profile:
    """How many processors are free from now to the end of time: free[i] on [times[i], times[i+1])."""

    def __init__(self, systems):
        self.times = [0]
        self.free = [systems]

    def cut(self, time):
        """The index of the step that begins at `time`."""
        i = bisect.bisect_left(self.times, time)
        if i == len(self.times) or self.times[i] != time:
            self.times.insert(i, time)
            self.free.insert(i, self.free[i - 1])
        return i

    def take(self, begin, end, procs):
        """Negative `procs` gives back."""
        if begin >= end:
            return
        first, last = self.cut(begin), self.cut(end)
        for i in range(first, last):
            self.free[i] -= procs
            assert self.free[i] >= 0
        for i in (last, first):  # steps of the same height are one
            if i > 0 and self.free[i] == self.free[i - 1]:
                del self.times[i], self.free[i]

    def forget_before(self, now):
        i = self.cut(now)
        del self.times[:i], self.free[:i]

    def earliest(self, now, length, procs):
        """The first time from `now` at which `procs` are free for `length` seconds."""
        begin = now
        for i in range(bisect.bisect_right(self.times, now) - 1, len(self.times)):
            if self.times[i] >= begin + length:
                break
            if self.free[i] < procs:
                begin = self.times[i + 1]  # the last step is the whole pool
        return begin


class Conservative(NoBackfill):
    def __init__(self, pool):
        super().__init__(pool)
        self.profile = Profile(pool.free)

    def reserve(self, job, now):
        job.reservation = self.profile.earliest(now, job.estimate, job.procs)
        self.profile.take(job.reservation, job.reservation + job.estimate, job.procs)

    def ended(self, job, now):
        self.profile.take(now, job.estimated_end(), -job.procs)

    def schedule(self, now, after_end):
        self.profile.forget_before(now)
        if after_end:
            for job in self.pool.queue:
                if job.reservation is not None and job.reservation > now:
                    self.profile.take(job.reservation, job.reservation + job.estimate, -job.procs)
                    before = job.reservation
                    self.reserve(job, now)
                    assert job.reservation <= before
        for job in self.pool.queue:
            if job.reservation is None:
                self.reserve(job, now)
        for job in list(self.pool.queue):
            if job.reservation <= now and job.procs <= self.pool.free:
                assert job.reservation == now
                self.pool.start(job, now)

    def reservations(self):
        return [job.reservation for job in self.pool.queue]


POLICIES = {"none": NoBackfill, "easy": Easy, "easy-sjbf": EasyShortestFirst,
            "conservative": Conservative}


def replay(jobs, systems, backfill, order, ties):
    """Give each job its start."""
    pool = Pool(systems, order)
    policy = POLICIES[backfill](pool)
    coming = list(reversed(jobs))

    def release(job, now):
        if job in pool.running:
            pool.release(job)
            policy.ended(job, now)

    def handle_submissions(now, one_pass_each):
        while coming and coming[-1].submit == now:
            pool.queue.append(coming.pop())
            if one_pass_each:
                policy.schedule(now, after_end=False)

    def handle_ends(ending, now, one_pass_each):
        for job in ending:
            release(job, now)
            if one_pass_each:
                policy.schedule(now, after_end=True)

    while coming or pool.queue or pool.running:
        now = min([job.end() for job in pool.running]
                  + [job.submit for job in coming[-1:]]
                  + policy.reservations())
        ending = [job for job in pool.running if job.end() == now]  # in the order of their starts
        happened = ending or (coming and coming[-1].submit == now)
        if ties in ("submit-first", "end-first"):
            for job in ending:
                if job.estimated_end() == now:
                    release(job, now)
        if ties == "submit-first":
            handle_submissions(now, True)
            handle_ends(ending, now, True)
        elif ties in ("end-first", "end-first-held"):
            handle_ends(ending, now, True)
            handle_submissions(now, True)
        else:
            handle_ends(ending, now, False)
            handle_submissions(now, False)
        if ties == "batch" or not happened:
            policy.schedule(now, after_end=bool(ending))


def main():
    parser = argparse.ArgumentParser(description="The schedule of a trace, slowly and plainly.")
    parser.add_argument("trace")
    parser.add_argument("--systems", type=int, required=True)
    parser.add_argument("--backfill", choices=POLICIES, default="easy")
    parser.add_argument("--order", choices=["fcfs", "sjf", "wfp"], default="fcfs")
    parser.add_argument("--estimates", choices=["requested", "actual"], default="requested")
    parser.add_argument("--ties", default="batch",
                        choices=["submit-first", "end-first", "end-first-held", "batch"])
    parser.add_argument("--schedule", metavar="OUT.csv", help="instead of standard output")
    options = parser.parse_args()
    if options.backfill == "conservative" and options.order != "fcfs":
        parser.error("conservative is defined for --order fcfs alone")
    jobs = read_trace(options.trace, options.systems, options.estimates)
    replay(jobs, options.systems, options.backfill, options.order, options.ties)
    with open(options.schedule, "w") if options.schedule else sys.stdout as out:
        print("job_id,submit,start,end,procs", file=out)
        for job in jobs:
            print(job.number, job.submit, job.start, job.end(), job.procs, sep=",", file=out)


if __name__ == "__main__":
    main()
