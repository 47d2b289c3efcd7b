"""The extra `judge`: verdicts of a language model on captions."""

from .captions import CaptionJudge

__all__ = ["CaptionJudge"]
