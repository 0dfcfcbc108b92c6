"""Reads a log into small Python objects, one for every row."""
# cause: results_kept_in_loop
# needs:
# smallest: 512MiB
# bare: killed
# ends: stop

from _stage import LIMIT, play


def work():
    rows = []
    for number in range(2 * LIMIT // 250):
        rows.append({"number": number, "score": number * 0.5, "name": f"row {number}"})  # guilty
    print(len(rows))


def small_job():
    rows = [{"number": number} for number in range(1000)]
    assert sum(row["number"] for row in rows) == 499_500


play(work, small_job)
