"""The attack: hostile files, tables and faults of the system from fixed seeds, and the properties that must hold."""
