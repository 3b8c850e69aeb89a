"""Threads, memory, kernels and progress: what every room runs on."""
