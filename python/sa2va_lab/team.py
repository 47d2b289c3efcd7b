"""The processes of a run, by accelerate: assignment of groups, and one sum per step."""

import os
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

T = TypeVar("T")


def _join() -> None:
    """
    Joins the processes that torchrun has started, under a name of this attempt.

    After a restart the launcher's store may still hold the addresses of processes that have ended.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or torch.distributed.is_initialized():
        return
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    store, rank, world = next(iter(rendezvous("env://")))
    own = PrefixStore(f"attempt-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    torch.distributed.init_process_group("nccl" if cuda else "gloo", store=own, rank=rank, world_size=world)


class Team:
    """All processes; a single process is a team too."""

    def __init__(self) -> None:
        """Joins the group started by torchrun or accelerate, if any; without a GPU it uses gloo."""
        _join()
        # Without the flag, every process on a machine without a GPU would be a separate team.
        self._accelerator: Any = Accelerator(cpu=not torch.cuda.is_available())
        self.rank: int = self._accelerator.process_index
        self.world: int = self._accelerator.num_processes
        self.device: torch.device = self._accelerator.device

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def own(self, groups: int) -> list[int]:
        """Groups of this process: g with g mod world = rank."""
        return list(range(self.rank, groups, self.world))

    def all_of(self, items: list[T]) -> list[T]:
        """Items of every process on every process, process after process."""
        return list(gather_object(items)) if self.world > 1 else items

    def sum(self, values: Tensor) -> Tensor:
        """Element-wise sum over the processes."""
        found: Tensor = self._accelerator.reduce(values, "sum")
        return found

    def wait(self) -> None:
        """Waits until all processes have arrived."""
        self._accelerator.wait_for_everyone()

    def leave(self) -> None:
        """Ends the group."""
        self._accelerator.end_training()
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
