"""How stable what a model shows is, and whether more rows would help: values of many fits, that print and plot."""
