"""Scaling, on the results page."""

from __future__ import annotations

from projse_paper.markdown import figure, not_run, seconds, source, table
from projse_paper.paper import numbers
from projse_paper.store import Record

TITLE = "Scaling: ten million rows"


def section(records: dict[str, Record]) -> str:
    """Compare the time for ten million rows with the paper's bound."""
    paper = numbers()["scaling"]
    lines = []
    for name, record in records.items():
        if not record.results:
            lines.append([name, "–", "–", not_run(record), "–", "–", source(record)])
            continue
        found = record.results
        for kernel in ("linear", "rbf"):
            lines.append(
                [
                    f"{record.parameters['dtype']}, {kernel}",
                    f"{found['m'][-1] / 1e6:g} M",
                    f"< {paper['seconds_below']:g}",
                    seconds(found[f"total_seconds_{kernel}"][-1]),
                    seconds(found[f"total_cpu_seconds_{kernel}"][-1]),
                    seconds(found[f"select_cpu_seconds_{kernel}"][-1]),
                    source(record),
                ]
            )
    header = [
        "rows",
        "m",
        "paper, s",
        "ours on the clock, s",
        "ours of the processor, s",
        "of which selection, s",
        "file",
    ]
    beyond = [
        [
            r.parameters["dtype"],
            seconds(r.results["three_kernels_100_picks_cpu_seconds"]),
            f"{r.results['peak_memory_mib']:.0f}",
            source(r),
        ]
        for r in records.values()
        if r.results
    ]
    return "\n\n".join(
        [
            f"Paper: {paper['place']}; {paper['machine']}. Ten picks from 100 variables for 100 "
            "outputs. Here rows are made in batches and summed as they come, and are never in "
            "memory at once; making them is not part of the time. The time grows in proportion to "
            "the rows, and nearly all of it is the pass. Time of the processor is the sum over "
            "its cores; other work on the machine stretches time on the clock and hardly that.",
            table(header, lines),
            "**Why they differ.** Absolute times are those of the machine, here two cores that "
            "were shared with other work while this ran, there ten cores. What the code itself "
            "costs is in the [benchmarks](../benchmarks/results/benchmarks.md), as ratios to "
            "numpy's own products, measured on a quiet machine.",
            "**Going beyond.** The same moments serve every kernel and every number of picks: "
            "all 100 variables in order, by three kernels, without reading a row again. And "
            "the data never need the memory that 10 million rows take (15 GiB in float64).",
            table(
                ["rows", "3 × 100 picks, processor s", "peak memory of the process, MiB", "file"],
                beyond,
            ),
            figure("scaling", "Seconds against millions of rows"),
        ]
    )
