"""Pictures prepared ahead are those that a step would prepare, in the order of its draws."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from test_loss import settings

from sa2va_lab.ahead import Ahead, Pictures, planned
from sa2va_lab.errors import LabError
from sa2va_lab.model import Prepared


class Rows:
    def row(self, index: int) -> Any:
        if index == 5:
            raise LabError("Row 5 has another picture")
        return SimpleNamespace(image_id=f"i{index}", rgb=np.full((2, 2, 3), index, np.uint8))


def prepare(rgb: Any) -> Prepared:
    return torch.from_numpy(rgb.astype(np.float32)), torch.full((1,), 9.0)


def test_workers_prepare_the_pictures_of_the_planned_draws() -> None:
    s = settings(loops="both", promptsPerStep=3, steps=3)
    own = SimpleNamespace(rows=[4, 5, 6, 7], place=lambda n, step: n % 4)
    order: Any = SimpleNamespace(of=lambda loop: own, before=lambda step: 3 * (step - 1))
    second: Any = SimpleNamespace(own=lambda count: list(range(1, count, 2)))
    places = list(planned(order, s, second, 2))
    assert places == [4, 4, 7, 7]
    alone: Any = SimpleNamespace(own=lambda count: list(range(count)))
    places = list(planned(order, s, alone, 2))
    data: Any = Rows()
    ahead = Ahead(Pictures(data, prepare), iter(places), 2, False)
    for index in places:
        ahead.draw()
        ready = ahead.taken(f"i{index}")
        if index == 5:
            assert ready is None
        else:
            assert ready is not None
            assert ready[0].tolist() == np.full((2, 2, 3), index).tolist()
            assert float(ready[1]) == 9
        assert ahead.taken(f"i{index}") is None
    ahead.draw()
    assert ahead.taken("i4") is None


def test_a_picture_that_was_not_foreseen_is_left_to_the_step() -> None:
    data: Any = Rows()
    ahead = Ahead(Pictures(data, prepare), iter([4, 6]), 1, False)
    ahead.draw()
    assert ahead.taken("i7") is None
    ahead.draw()
    assert ahead.taken("i6") is not None
