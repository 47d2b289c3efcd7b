"""The extra `judge`: verdicts of a language model on captions."""

from .captions import CaptionJudge
from .record import drop_after, judge_metrics, record, spending

__all__ = ["CaptionJudge", "drop_after", "judge_metrics", "record", "spending"]
