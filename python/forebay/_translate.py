"""From fsspec's options for a file system to the cache's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Place:
    """Where a cache reads: its source, options, and settings of the object store."""

    source: str
    options: dict[str, object] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


#: fsspec's protocols of the stores that Forebay reads itself, and its own scheme for each.
_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az", "adl": "az"}

#: fsspec's options and the settings that they are, by scheme.
_SETTINGS = {
    "s3": {"key": "aws_access_key_id", "secret": "aws_secret_access_key", "token": "aws_session_token"},
    "gs": {"token": "google_service_account"},
    "az": {
        "account_name": "azure_storage_account_name",
        "account_key": "azure_storage_account_key",
        "sas_token": "azure_storage_sas_token",
        "tenant_id": "azure_storage_tenant_id",
        "client_id": "azure_storage_client_id",
        "client_secret": "azure_storage_client_secret",
    },
}

#: fsspec's options and the cache's, by scheme.
_OPTIONS = {
    "s3": {"anon": "no_sign_request", "endpoint_url": "endpoint", "profile": "profile"},
    "gs": {"endpoint_url": "endpoint"},
    "az": {"anon": "no_sign_request"},
}

#: Options that change nothing here: how the other library fetches and remembers.
_WITHOUT_MEANING = {
    "asynchronous", "block_size", "cache_type", "cache_options", "client_kwargs", "config_kwargs", "default_block_size",
    "default_cache_type", "default_fill_cache", "max_concurrency", "project", "requests_timeout", "skip_instance_cache",
    "use_listings_cache", "use_ssl", "loop", "batch_size", "auto_mkdir", "retries", "consistency", "version_aware",
}  # fmt: skip


def place(protocol: str, options: Mapping[str, Any], path: str) -> tuple[Place | None, str]:
    """Where a path of a protocol is read, and the path there.

    The place is ``None`` if Forebay cannot read it itself: its protocol or an option is not known.

    :param path: with the protocol or without it
    """
    if protocol in ("file", "local"):
        inside = path.removeprefix("file://").removeprefix("local://")
        return Place("/"), os.path.abspath(inside).lstrip("/")
    if protocol in ("http", "https"):
        return _web(options, path if "://" in path else f"{protocol}://{path}")
    scheme = _SCHEMES.get(protocol)
    if scheme is None:
        return None, path.split("://", 1)[-1]
    bucket, _, key = path.split("://", 1)[-1].lstrip("/").partition("/")
    # abfs://container@account/path names the account, too.
    bucket, _, account = bucket.partition("@")
    translated = _store(scheme, options)
    if translated is None:
        return None, path.split("://", 1)[-1]
    found = Place(f"{scheme}://{bucket}", *translated)
    if account:
        found.settings.setdefault("azure_storage_account_name", account.split(".", 1)[0])
    return found, key


def misplaced(protocol: str | None, options: Mapping[str, Any]) -> list[str]:
    """Names among the cache's options that are options of the other file system."""
    scheme = _SCHEMES.get(protocol or "")
    if scheme is None:
        return []
    theirs = {*_SETTINGS[scheme], *_OPTIONS[scheme], "client_kwargs", "config_kwargs"} - {"profile"}
    return sorted(theirs & options.keys())


def _store(scheme: str, options: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, str]] | None:
    """The cache's options and settings; ``None`` if one cannot be translated."""
    found: dict[str, object] = {}
    settings: dict[str, str] = {}
    client = dict(options.get("client_kwargs") or {})
    given = {**options}
    for name, wanted in (("endpoint_url", "endpoint"), ("region_name", "region")):
        if client.get(name) is not None:
            found[wanted] = client.pop(name)
    if client.keys() - {"verify", "use_ssl"}:
        return None
    for name, value in given.items():
        if value is None or name in _WITHOUT_MEANING:
            continue
        if name in _OPTIONS[scheme]:
            found[_OPTIONS[scheme][name]] = value
        elif scheme == "gs" and value == "anon" and name == "token":
            found["no_sign_request"] = True
        elif scheme == "gs" and name == "token" and value in ("google_default", "cloud"):
            continue
        elif name in _SETTINGS[scheme] and isinstance(value, str):
            settings[_SETTINGS[scheme][name]] = value
        else:
            return None
    return found, settings


def _web(options: Mapping[str, Any], url: str) -> tuple[Place | None, str]:
    if any(value is not None and name not in _WITHOUT_MEANING for name, value in options.items()):
        return None, url
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        return None, url
    return Place(f"{parts.scheme}://{parts.netloc}/"), parts.path.lstrip("/")
