"""A client of licd. Requests are in `_flow`. This file only names the public items."""

from ._client import AsyncLicd, Licd
from ._flow import ApiError, FileStore, LicdError, NoAnswer, Result, Store
from ._policy import FailClosed, FailOpen, LastAnswer, Leases

__all__ = [
    "ApiError", "AsyncLicd", "FailClosed", "FailOpen", "FileStore", "LastAnswer", "Leases", "Licd",
    "LicdError", "NoAnswer", "Result", "Store",
]  # fmt: skip
