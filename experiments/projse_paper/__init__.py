"""The experiments of the ProjSe paper: every table and figure from one command."""
