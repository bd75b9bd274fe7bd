"""Search: coordinates in the reference space, greedy picks, rounds, significance.

Comes in: kernel matrices, and a task: how many, what first, what never, when to stop.
Goes out: picks in order, each with its score, margin, p-value and round.
Must not know: where rows came from, files, scikit-learn's conventions.
"""
