"""Heaps of Storm's workers: HPROF dumps and class histograms."""
