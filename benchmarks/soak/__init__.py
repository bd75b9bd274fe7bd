"""Soak: the same thing very many times; how far sums drift, whether memory and open files grow."""
