"""Fuzzing of all that reads what strangers wrote: files of moments, states, tables, data sets.

A target is a module with ``seeds()``, real small inputs to begin with, and ``attempt(data)``, which
hands bytes to the package and raises whatever it raises. Every attempt must end in success or in an
error of our own (:mod:`fuzz.judge`), within a bound of time and memory (:mod:`fuzz.one`).
"""

TARGETS = ("moments", "state", "command", "encoder", "loaders")
