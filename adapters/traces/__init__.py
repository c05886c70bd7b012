"""One reader a format: a reader translates records into events and correlates their ids. It holds no rule."""
