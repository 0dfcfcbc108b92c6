"""Run inside another victim: computes until the limit of processor time kills it."""

import resource

used = resource.getrusage(resource.RUSAGE_SELF)
limit = int(used.ru_utime + used.ru_stime) + 1
# Soft equal to hard: SIGKILL at once, without SIGXCPU before.
resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
while True:
    sum(range(1000))
