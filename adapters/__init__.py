"""What is real: the world outside the machines, one room a kind of component."""
