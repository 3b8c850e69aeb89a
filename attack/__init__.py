"""The attack: hostile files, tables and faults of the system, from a fixed seed, and the laws that must hold."""
