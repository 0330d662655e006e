"""Where a log's bytes are: a folder of the local file system, or an object store.

The log asks for little: write an object whole, write one *only if its name is still free* (the one primitive of the
concurrency protocol), read, list, delete. On a local disk a write is on the disk (fsync of file and folder) before it
is visible under its name; on an object store a write is durable when the store has answered.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import obstore
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.exceptions import NotFoundError as ObjectNotFoundError
from obstore.store import MemoryStore, from_url

from headwater.errors import ArgumentRefused, LogUnavailable

WHOLE_READ_LIMIT = 16 * 1024 * 1024
"""Objects up to this size are fetched with one request; larger ones in ranges, so that columns can be chosen."""
UNACKNOWLEDGED = "Nothing was acknowledged: what was not there before is not there now, or is not part of the log."


class Storage(Protocol):
    """One folder (or key prefix). Paths are relative to it and use `/`. Every failure is a `LogUnavailable`."""

    url: str
    """Where it is, as `deltalake` takes it."""
    options: dict[str, str]
    """The storage options that `deltalake` needs beside the URL."""
    sees_deltalake: bool
    """Tells if `deltalake` opened on `url` sees the same bytes; not so in memory, where every handle has its own."""

    def write(self, path: str, data: bytes | pa.Buffer) -> None:
        """Write an object whole and durably; it replaces one of the same name."""

    def write_new(self, path: str, data: bytes) -> bool:
        """Write an object durably if the name is free, and tell whether it was: at most one caller gets True."""

    def jot(self, path: str, data: bytes) -> None:
        """Write a few bytes over others of the same length without waiting until they are durable; it may fail."""

    def queue(self) -> AbstractContextManager[bool]:
        """Wait for other writers to finish, where the storage offers that; tells whether it does.

        It saves writers of one machine from losing numbers to each other. Nothing may depend on it.
        """

    def swap(self, path: str, before: bytes | None, after: bytes) -> bool:
        """Replace an object durably if its bytes are still `before` (None: there is none); tell whether they were."""

    def read(self, path: str) -> bytes | None:
        """The object's bytes, or None if there is none."""

    def list(self, folder: str, after: str = "") -> list[str]:
        """The names (not paths) in a folder that sort behind `after`, in order."""

    def below(self, folder: str) -> Storage:
        """The storage that is a folder of this one."""

    def walk(self) -> Iterator[tuple[str, int]]:
        """Every object below, at any depth, and its size; in no order."""

    def looks(self, path: str) -> object | None:
        """A mark that changes with an object's bytes, where it is known without reading them; None where it isn't."""

    def delete(self, path: str) -> None:
        """Delete an object; it is no error if it isn't there."""

    def move(self, folder: str, to: str) -> None:
        """Give a folder another place; nothing if there is none. A process that stops may have moved a part of it."""

    def open(self, path: str, size: int) -> pa.NativeFile:
        """A seekable reader of an object of that size; `FileNotFoundError` if there is none."""


def open_storage(location: str, options: dict[str, str] | None = None) -> Storage:
    """The storage at a path or URL (`s3://`, `gs://`, `az://`, `file://`, `memory://`).

    >>> open_storage("memory://example").url
    'memory://example'
    """
    scheme = urlsplit(location).scheme
    if scheme in ("", "file") or len(scheme) == 1:
        return LocalStorage(Path(urlsplit(location).path if scheme == "file" else location))
    if scheme == "memory":
        return ObjectStorage(location, {}, _memory(location), sees_deltalake=False)
    return ObjectStorage(location, dict(options or {}), connect(location, dict(options or {})), sees_deltalake=True)


def folder_of(name: str) -> str:
    """A name as one folder: what would lead elsewhere is spelled out.

    >>> folder_of("orders"), folder_of("../a b/c")
    ('orders', '%2E.%2Fa b%2Fc')
    """
    spelled = "".join(c if c.isalnum() or c in "-_ ." else quote(c, safe="") for c in name)
    return f"%2E{spelled[1:]}" if spelled.startswith(".") else spelled


class LocalStorage:
    """A folder of the local file system."""

    sees_deltalake = True

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.url = str(self.root)
        self.options: dict[str, str] = {}

    def write(self, path: str, data: bytes | pa.Buffer) -> None:
        target = f"{self.url}/{path}"
        with _named(target):
            try:
                _write_synced(target, data, os.O_EXCL)
            except FileExistsError:
                staged = f"{target}.{uuid.uuid4().hex}.tmp"
                _write_synced(staged, data)
                os.replace(staged, target)  # noqa: PTH105  # no Path is made
            _sync_folder_of(target)

    def write_new(self, path: str, data: bytes) -> bool:
        target = f"{self.url}/{path}"
        folder, _, name = target.rpartition("/")
        staged = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        with _named(target):
            try:
                _write_synced(staged, data)
                os.link(staged, target)
            except FileExistsError:
                return False
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(staged)  # noqa: PTH108  # each append comes here: no Path is made
            _sync_folder_of(target)
            return True

    def jot(self, path: str, data: bytes) -> None:
        with suppress(OSError):
            descriptor = _made(f"{self.url}/{path}", os.O_WRONLY | os.O_CREAT)
            try:
                os.pwrite(descriptor, data, 0)
            finally:
                os.close(descriptor)

    @contextmanager
    def queue(self) -> Iterator[bool]:
        with self._locked(self.root):
            yield True

    def swap(self, path: str, before: bytes | None, after: bytes) -> bool:
        target = self.root / path
        with _named(target), self._locked(target.parent):
            if self.read(path) != before:
                return False
            staged = target.with_name(f".{target.name}.tmp")
            _write_synced(str(staged), after)
            staged.replace(target)
            _sync_folder_of(str(target))
            return True

    @contextmanager
    def _locked(self, folder: Path) -> Iterator[None]:
        """Hold a folder's lock; the system lets go of it when the process ends, however it ends."""
        with _named(folder):
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def read(self, path: str) -> bytes | None:
        with _named(self.root / path):
            try:
                return (self.root / path).read_bytes()
            except FileNotFoundError:
                return None

    def list(self, folder: str, after: str = "") -> list[str]:
        with _named(self.root / folder):
            try:
                return sorted(entry.name for entry in (self.root / folder).iterdir() if entry.name > after)
            except FileNotFoundError:
                return []

    def delete(self, path: str) -> None:
        with _named(self.root / path), suppress(FileNotFoundError):
            (self.root / path).unlink()

    def move(self, folder: str, to: str) -> None:
        with _named(self.root / folder), suppress(FileNotFoundError):
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / folder).rename(self.root / to)

    def below(self, folder: str) -> Storage:
        return LocalStorage(self.root / folder)

    def walk(self) -> Iterator[tuple[str, int]]:
        with _named(self.root):
            for folder, _, names in os.walk(self.root):
                for name in names:
                    path = Path(folder, name)
                    with suppress(FileNotFoundError):  # deleted since it was listed
                        yield path.relative_to(self.root).as_posix(), path.stat().st_size

    def looks(self, path: str) -> object | None:
        try:
            stat = os.stat(f"{self.url}/{path}")  # noqa: PTH116  # twice as fast, and asked for each file that is read
        except OSError:
            return None
        return stat.st_size, stat.st_mtime_ns, stat.st_ino

    def open(self, path: str, size: int) -> pa.NativeFile:  # noqa: ARG002
        return pa.memory_map(str(self.root / path))


class ObjectStorage:
    """A key prefix of an object store, through the same client library that `deltalake` uses."""

    def __init__(self, url: str, options: dict[str, str], store: Any, *, sees_deltalake: bool) -> None:
        self.url = url
        self.options = options
        self.sees_deltalake = sees_deltalake
        self._store = store

    def write(self, path: str, data: bytes | pa.Buffer) -> None:
        with _named(f"{self.url}/{path}"):
            obstore.put(self._store, path, bytes(data))

    def write_new(self, path: str, data: bytes) -> bool:
        with _named(f"{self.url}/{path}"):
            try:
                obstore.put(self._store, path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

    def jot(self, path: str, data: bytes) -> None:
        with suppress(LogUnavailable):
            self.write(path, data)

    @contextmanager
    def queue(self) -> Iterator[bool]:
        yield False

    def swap(self, path: str, before: bytes | None, after: bytes) -> bool:
        if before is None:
            return self.write_new(path, after)
        with _named(f"{self.url}/{path}"):
            try:
                stored = obstore.get(self._store, path)
                if bytes(stored.bytes()) != before:
                    return False
                mode: Any = {"e_tag": stored.meta["e_tag"]}
                obstore.put(self._store, path, after, mode=mode, use_multipart=False)
            except (ObjectNotFoundError, FileNotFoundError, PreconditionError):
                return False
            return True

    def read(self, path: str) -> bytes | None:
        with _named(f"{self.url}/{path}"):
            try:
                return bytes(obstore.get(self._store, path).bytes())
            except (ObjectNotFoundError, FileNotFoundError):
                return None

    def list(self, folder: str, after: str = "") -> list[str]:
        with _named(f"{self.url}/{folder}"):
            chunks = obstore.list(self._store, prefix=folder, offset=f"{folder}/{after}", chunk_size=1000)
            return sorted(item["path"].removeprefix(f"{folder}/") for chunk in chunks for item in chunk)

    def below(self, folder: str) -> Storage:
        return open_storage(f"{self.url}/{folder}", self.options)

    def walk(self) -> Iterator[tuple[str, int]]:
        with _named(self.url):
            for chunk in obstore.list(self._store, chunk_size=1000):
                for item in chunk:
                    yield item["path"], item["size"]

    def looks(self, path: str) -> object | None:  # noqa: ARG002
        return None

    def delete(self, path: str) -> None:
        with _named(f"{self.url}/{path}"), suppress(ObjectNotFoundError, FileNotFoundError):
            obstore.delete(self._store, path)

    def move(self, folder: str, to: str) -> None:
        for name in self.list(folder):
            with _named(f"{self.url}/{folder}/{name}"):
                obstore.rename(self._store, f"{folder}/{name}", f"{to}/{name}")

    def open(self, path: str, size: int) -> pa.NativeFile:
        if size > WHOLE_READ_LIMIT:
            return pa.PythonFile(obstore.open_reader(self._store, path), mode="r")
        data = self.read(path)
        if data is None:
            raise FileNotFoundError(f"{self.url}/{path}")
        return pa.BufferReader(data)


_CLIENT_OPTIONS = {"allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "timeout", "user_agent"}
"""Options that `deltalake` takes among its storage options and the client library takes apart from them."""
_memories: dict[str, Any] = {}


def _memory(location: str) -> Any:
    """The process's one store for a `memory://` URL: two logs opened on the same URL share it."""
    return _memories.setdefault(location, MemoryStore())


def connect(location: str, options: Mapping[str, str]) -> Any:
    """A client of the object store at a URL, with the options that `deltalake` takes."""
    settings = {name.lower().removeprefix("aws_"): value for name, value in options.items()}
    client = {name: settings[name] for name in _CLIENT_OPTIONS & settings.keys()}
    config: Any = {name: value for name, value in options.items() if name.lower().removeprefix("aws_") not in client}
    try:
        return from_url(location, config=config, client_options=_typed(client))
    except (BaseError, ValueError, TypeError) as cause:
        raise ArgumentRefused(
            f'"{location}" can\'t be opened',
            detail=f"{cause}.",
            hint="Give a path, or an s3://, gs://, az:// or memory:// URL with its storage options.",
        ) from cause


def _typed(client: dict[str, str]) -> Any:
    return {name: value == "true" if value in ("true", "false") else value for name, value in client.items()}


@contextmanager
def _named(location: Path | str) -> Iterator[None]:
    """Turn a failure of the storage into an operator's error that names the location."""
    try:
        yield
    except (OSError, BaseError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        raise LogUnavailable(
            f'the log could not be reached at "{location}"',
            detail=f"{reason}. {UNACKNOWLEDGED}",
            hint="Check free space, permissions and the connection, then repeat the call.",
            path=str(location),
        ) from cause


def _write_synced(target: str, data: bytes | pa.Buffer, how: int = os.O_TRUNC) -> None:
    """Write a file of our own, durably; where that fails, as on a disk that is full, nothing is left of it."""
    with open(_made(target, os.O_WRONLY | os.O_CREAT | how), "wb", buffering=0) as file:
        try:
            left = memoryview(data)
            while left.nbytes:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except BaseException:
            os.unlink(target)  # noqa: PTH108  # no Path is made
            raise


def _made(target: str, flags: int) -> int:
    """A descriptor of a file to write; its folder is made if it isn't there."""
    try:
        return os.open(target, flags | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120  # each append comes here
        return os.open(target, flags | os.O_CLOEXEC, 0o666)


def _sync_folder_of(target: str) -> None:
    descriptor = os.open(target.rpartition("/")[0], os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
