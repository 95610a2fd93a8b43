"""Many episodes on many machines: Ray Data hands plans to workers, each with an enterprise of its own."""

from companyos.cluster.run import ClusterUnavailableError, play_on_cluster

__all__ = ["ClusterUnavailableError", "play_on_cluster"]
