"""Runs on a Ray cluster: Ray Data distributes episode plans to workers, each with its own server."""

from companyos.cluster.run import ClusterUnavailableError, play_on_cluster

__all__ = ["ClusterUnavailableError", "play_on_cluster"]
