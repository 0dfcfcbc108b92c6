"""Outlive inside IPython: cells are recorded, refusals explain themselves, `%outlive` answers.

`extension.py` puts everything in and takes it out again; nothing here is imported before that.
"""
