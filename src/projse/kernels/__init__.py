"""Kernels between variables: elementwise functions of linear Gram matrices.

Comes in: moments, or rows where products are made on demand. Goes out: normalised ``K_YY``, columns
of ``K_YX``, and rows of ``K_XX`` when asked for; how much of them is rounding.
Must not know: in which order variables are picked, or why.
"""
