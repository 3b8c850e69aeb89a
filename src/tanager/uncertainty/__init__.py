"""How sure a network is: the posterior of its parameters, and intervals of P(class | row) and of effects by it."""
