"""Clusters of files are lowered and examined, over processes where that pays."""
