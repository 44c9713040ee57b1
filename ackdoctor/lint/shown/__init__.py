"""Which of the findings are shown: suppressed, selected, in the baseline."""
