"""What is typed: one file a command, with no logic of its own."""
