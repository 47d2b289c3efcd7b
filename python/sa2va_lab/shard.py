"""
A frozen language model that is split over the processes (FSDP2), for bases that do not fit one card.

Only frozen weights are split. Trained tensors stay whole on every process, so updates, averages and checkpoints equal
those of an unsplit model. A layer's weights are gathered while it computes, which all processes must do at the same
time; a process without work takes part with an empty pass.
"""

from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from .errors import LabError
from .settings import Settings
from .team import Team


def check_shares(settings: Settings, team: Team) -> None:
    """Raises LabError for one process, and if several would run different numbers of backward passes."""
    if team.world == 1:
        raise LabError("--shard fsdp2 splits the model over processes; start several by torchrun")
    if settings.resample_rounds > 0:
        raise LabError("--shard fsdp2 cannot sample groups again; set resampleRounds to 0 in the lab")
    groups = settings.accumulation * settings.prompts_per_step
    if groups % team.world != 0:
        raise LabError(
            f"--shard fsdp2 needs a multiple of {team.world} groups per step, one share per process, not {groups}"
        )


class Lockstep:
    """Keeps the passes of all processes through a split model in step."""

    def __init__(self, language_model: Any, team: Team) -> None:
        """`language_model` is split already."""
        self._language_model = language_model
        self._flag = torch.ones(1, device=team.device)

    def enter(self, own: bool = True) -> bool:
        """Call it before each pass, or with False if there is none. Whether any process has a pass to compute."""
        self._flag.fill_(float(own))
        torch.distributed.all_reduce(self._flag)
        return bool(self._flag.item() > 0)

    @torch.no_grad()
    def settle(self) -> None:
        """Takes part in the passes of other processes until all have arrived here."""
        table = self._language_model.get_input_embeddings().weight
        nothing: Tensor = table.new_zeros(1, 1, table.shape[1])
        while self.enter(False):
            self._language_model.model(inputs_embeds=nothing, use_cache=False)


def split(language_model: Any, team: Team) -> Lockstep:
    """Splits the frozen weights of every decoder layer over the processes and moves the shares to their device."""
    mesh = init_device_mesh(team.device.type, (team.world,))
    for layer in language_model.model.layers:
        whole = {own for own in layer.parameters() if own.requires_grad}
        fully_shard(layer, mesh=mesh, reshard_after_forward=True, ignored_params=whole)
    return Lockstep(language_model, team)
