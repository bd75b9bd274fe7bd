"""Engines: rows that stay on other machines, with Dask and with Spark.

Comes in: Dask arrays and data frames, Spark DataFrames; a reduction, which is a function for one
partition and one that adds two results. Goes out: one result, added up in a tree in the order of
the partitions, or what is wrong with the first of them; no row travels.
Must not know: what the reduction computes (moments), kernels, selection.
"""
