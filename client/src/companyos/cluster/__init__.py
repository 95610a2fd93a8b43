"""Many episodes on many machines: Ray Data hands plans to workers, each with an enterprise of its own."""

from companyos.cluster.playing import NoCluster, play_on_cluster

__all__ = ["NoCluster", "play_on_cluster"]
