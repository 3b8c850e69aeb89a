"""Parameters of a given network, moved so that it answers a query better."""
