"""The extra `evaluation`: held-out rows with fixed draws, and reports over them."""

from .rows import evaluate_due

__all__ = ["evaluate_due"]
