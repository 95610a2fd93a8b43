"""The episode engine: clients of the services, tools, simulated time, rewards, journals and snapshots."""
