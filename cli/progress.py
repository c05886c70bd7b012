"""How far a large file has been read, for a person at a terminal."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

__all__ = ["progress"]

_LARGE = 8 * 1024 * 1024


@contextmanager
def progress(source: BinaryIO, name: str) -> Iterator[None]:
    """Show a bar on standard error while the block reads a large file; nothing where that is no terminal.

    The bar looks at the file's position now and then, so that reading costs nothing.
    """
    file = source.fileno()
    size = os.fstat(file).st_size
    if size < _LARGE or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    over = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=size)

        def follow() -> None:
            while not over.wait(0.2):
                bar.update(task, completed=os.lseek(file, 0, os.SEEK_CUR))

        watcher = threading.Thread(target=follow, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
