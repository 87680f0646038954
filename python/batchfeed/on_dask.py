# SPDX-License-Identifier: MIT
"""Work on the shards of a corpus on a Dask cluster.

    import batchfeed.on_dask

    cluster = batchfeed.on_dask.Cluster()
    cluster.convert("s3://bucket/part-*.ctf", "/shared/binary")
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, Optional

from . import _cluster
from ._convert import library
from ._files import StorageOptions


class Cluster(_cluster.Cluster):
    """Tasks of a dask.distributed client: the one given, or the one that this process has.

    A task whose worker dies is run again, as often as the scheduler's `allowed-failures` says; one that raises
    is not.
    """

    def __init__(self, client: Optional[Any] = None, *, storage_options: StorageOptions = None) -> None:
        super().__init__(storage_options=storage_options)
        self._client = client

    def map(self, function: Callable[[_cluster.In], _cluster.Out], items: Iterable[_cluster.In]) -> list[_cluster.Out]:
        """The results for all items, in their order. If a task raises, that is raised here, and the others are cancelled."""
        client = self._client or library("distributed", "batchfeed.on_dask").get_client()
        futures = [client.submit(function, item, pure=False) for item in items]
        try:
            results: list[_cluster.Out] = client.gather(futures)
        except BaseException:
            client.cancel(futures)
            raise
        return results
