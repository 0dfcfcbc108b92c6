"""Collects a download with `+=`: each turn has the old and the new bytes at once."""
# cause: oversized_tensor
# needs:
# smallest: 512MiB
# bare: killed
# ends: refusal

from _stage import LIMIT, play


def work():
    chunk = b"x" * (LIMIT // 24)
    data = b""
    for _ in range(48):
        data += chunk  # guilty
    print(len(data))


def small_job():
    assert len(b"".join([b"x"] * 1000)) == 1000


play(work, small_job)
