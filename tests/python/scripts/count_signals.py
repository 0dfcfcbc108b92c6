"""Counts how often a signal arrives until a line comes on standard input; ends with code 7."""

import signal
import sys

received = []


def note(number, frame):
    received.append(number)
    print("got", len(received), flush=True)


signal.signal(int(sys.argv[1]), note)
print("ready", flush=True)
sys.stdin.readline()
print("in all", len(received), flush=True)
sys.exit(7)
