"""Runs of sa2va-lab on many GPUs: the lab's dual-loop step in PyTorch over the lab's own run folder."""

__version__ = "0.1.0"
