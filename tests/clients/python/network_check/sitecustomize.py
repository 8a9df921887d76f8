"""Answers SkyPilot's question whether there is a network, without the internet.

SkyPilot watches a managed job only while one of two fixed addresses of the internet answers. This module is loaded
before SkyPilot, and replaces them with the address in the environment variable NETWORK_CHECK.
"""

import importlib.abc
import importlib.util
import os
import sys


class NetworkCheck(importlib.abc.MetaPathFinder):
    """Finds the module with the addresses."""

    def find_spec(self, name, path, target=None):
        if name != "sky.backends.backend_utils":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            assert len(module._TEST_IP_LIST) == 2
            module._TEST_IP_LIST[:] = [os.environ["NETWORK_CHECK"]]

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, NetworkCheck())
