"""A client of licd. What a request does is in `_flow`; this file only names what is public."""

from ._client import AsyncLicd, Licd
from ._flow import (
    ApiError,
    FailClosed,
    FailOpen,
    FileStore,
    LastAnswer,
    LicdError,
    NoAnswer,
    Result,
    Store,
)  # fmt: skip

__all__ = [
    "ApiError", "AsyncLicd", "FailClosed", "FailOpen", "FileStore", "LastAnswer", "Licd",
    "LicdError", "NoAnswer", "Result", "Store",
]  # fmt: skip
