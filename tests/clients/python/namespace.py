"""A namespace for one test case, deleted at its end."""

import contextlib
import uuid

from kubernetes import client


@contextlib.contextmanager
def namespace():
    """Yields the name of a new namespace."""
    api = client.CoreV1Api()
    name = "clients-" + uuid.uuid4().hex[:8]
    api.create_namespace({"metadata": {"name": name}})
    try:
        yield name
    finally:
        api.delete_namespace(name)
