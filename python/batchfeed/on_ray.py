# SPDX-License-Identifier: MIT
"""Work on the shards of a corpus on a Ray cluster.

    import batchfeed.on_ray

    cluster = batchfeed.on_ray.Cluster()
    cluster.convert("s3://bucket/part-*.ctf", "/shared/binary")
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

from . import _cluster
from ._convert import library
from ._files import StorageOptions


class Cluster(_cluster.Cluster):
    """Tasks of the Ray cluster that this process is connected to, or of one that ray.init() starts here.

    A task takes `cpus`; `options` are any others of ray.remote(), such as {"memory": 2 << 30}. A task whose worker
    dies is run again, up to `retries` times.
    """

    def __init__(
        self, *, cpus: float = 1, retries: int = 5, options: dict[str, Any] = {}, storage_options: StorageOptions = None
    ) -> None:
        super().__init__(storage_options=storage_options)
        self._options = {"num_cpus": cpus, "max_retries": retries, **options}

    def map(self, function: Callable[[_cluster.In], _cluster.Out], items: Iterable[_cluster.In]) -> list[_cluster.Out]:
        """The results for all items, in their order. If a task raises, that is raised here, and the others are cancelled."""
        ray = library("ray", "batchfeed.on_ray")
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        task = ray.remote(**self._options)(_call)
        shared = ray.put(function)
        references = [task.remote(shared, item) for item in items]
        try:
            results: list[_cluster.Out] = ray.get(references)
        except BaseException as error:
            for reference in references:
                ray.cancel(reference)
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, Exception) else error
        return results


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)
