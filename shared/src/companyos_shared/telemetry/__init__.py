"""What a process tells about itself: its log, its traces, its latencies. Nothing of it reaches the world."""
