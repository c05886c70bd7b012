"""What is drawn: machines, systems and traces."""
