"""
The extra `ahead`: pictures of coming steps, which worker processes prepare in the order in which the steps draw them.
"""

from collections.abc import Callable, Iterator

from torch.utils.data import DataLoader, Dataset

from .data import Rgb, RunData
from .errors import LabError
from .model import Prepared
from .order import RowOrder
from .play import Context
from .settings import Settings
from .team import Team

_Item = tuple[str, Prepared] | None


def planned(order: RowOrder, s: Settings, team: Team, first: int) -> Iterator[int]:
    """Data-set indices of the rows that this process's groups draw from step `first` on, loop by loop."""
    for step in range(first, s.steps + 1):
        for own in [order.of(loop) for loop in ([1] if s.mode == "sft" else s.active_loops)]:
            for group in team.own(s.rows_per_step):
                yield own.rows[own.place(order.before(step) + group, step)]


class Pictures(Dataset[_Item]):
    """Ids and prepared pictures of rows by their index; None for a row that cannot be read."""

    def __init__(self, data: RunData, prepare: Callable[[Rgb], Prepared]) -> None:
        """`prepare` is that of the run."""
        self._data, self._prepare = data, prepare

    def __getitem__(self, index: int) -> _Item:
        """The picture of a row."""
        try:
            row = self._data.row(index)
        except LabError:
            # The step itself says so when it gets there, if it does.
            return None
        return row.image_id, self._prepare(row.rgb)


class Ahead:
    """The pictures of the next draws. One that was not foreseen, or not usable, is prepared by the step itself."""

    def __init__(self, pictures: Dataset[_Item], places: Iterator[int], workers: int, pinned: bool) -> None:
        """`places` are the rows' indices in the order of their draws; each worker holds two pictures."""
        # Workers use no GPU, and a fork shares the opened shards.
        loader = DataLoader(
            pictures, batch_size=None, sampler=places, num_workers=workers, prefetch_factor=2, pin_memory=pinned,
            multiprocessing_context="fork",
        )  # fmt: skip
        self._coming = iter(loader)
        self._ready: _Item = None

    def draw(self) -> None:
        """Call it once for each planned draw, before its picture is asked for."""
        self._ready = next(self._coming, None)

    def taken(self, image_id: str) -> Prepared | None:
        """The prepared picture of the last draw, if that is its id."""
        ready, self._ready = self._ready, None
        return ready[1] if ready is not None and ready[0] == image_id else None


def of_run(context: Context, team: Team, workers: int) -> Ahead:
    """Prepares the pictures of this process's next draws."""
    pictures = Pictures(context.data, context.preparation)
    places = planned(context.order, context.settings, team, context.step)
    return Ahead(pictures, places, workers, team.device.type == "cuda")
