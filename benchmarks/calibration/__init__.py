"""Do the statistics hold what they say? Simulated data sets, figures for docs/calibration.md."""
