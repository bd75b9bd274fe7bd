"""Engines: rows that stay on other machines, with Dask and with Spark.

Comes in: Dask arrays and data frames, Spark DataFrames; a function for one partition and one that
adds two results. Goes out: one result, added up in a tree; nothing else travels.
Must not know: what the function computes, kernels, selection.
"""
