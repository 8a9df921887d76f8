"""The client `kr8s`."""

import unittest

import kr8s
from kr8s.asyncio.objects import ConfigMap, Deployment, Namespace, Pod
from manifests import deployment, netexec, pod


class Kr8sTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.api = await kr8s.asyncio.api()
        body = {"metadata": {"generateName": "clients-"}}
        self.namespace = await Namespace(body, api=self.api)
        await self.namespace.create()
        self.addAsyncCleanup(self.namespace.delete)

    async def create(self, kind, body):
        """Creates an object in the namespace of the test case."""
        body["metadata"]["namespace"] = self.namespace.name
        created = await kind(body, api=self.api)
        await created.create()
        return created

    async def test_discovery(self):
        kinds = {r["kind"] for r in await self.api.api_resources()}
        self.assertLessEqual({"Pod", "Deployment", "Job"}, kinds)
        self.assertTrue(await self.api.whoami())

    async def test_pod(self):
        created = await self.create(Pod, pod("p", "echo hello; sleep 2"))
        await created.wait("condition=Ready", timeout=60)
        await created.label({"a": "b"})
        await created.annotate({"c": "d"})
        await created.wait("jsonpath='{.status.phase}'=Succeeded", timeout=60)
        self.assertEqual([line async for line in created.logs()], ["hello"])
        self.assertEqual(created.labels["a"], "b")

    async def test_deployment(self):
        created = await self.create(Deployment, deployment("d", 1))
        await created.wait("condition=Available", timeout=60)
        await created.scale(2)
        await created.wait("jsonpath='{.status.availableReplicas}'=2", timeout=60)
        self.assertEqual(len(await created.pods()), 2)

    async def test_watch(self):
        await self.create(ConfigMap, {"metadata": {"name": "c"}, "data": {}})
        async for event, found in self.api.watch(
            "configmaps", namespace=self.namespace.name
        ):
            if found.name == "c":
                self.assertEqual(event, "ADDED")
                return

    async def test_exec(self):
        created = await self.create(Pod, pod("p", "sleep 600"))
        await created.wait("condition=Ready", timeout=60)
        result = await created.exec(["sh", "-c", "echo out; echo err >&2"])
        self.assertEqual((result.stdout, result.stderr), (b"out\n", b"err\n"))
        self.assertEqual(result.returncode, 0)

    async def test_port_forward(self):
        created = await self.create(Pod, netexec("server"))
        await created.wait("condition=Ready", timeout=60)
        import httpx

        async with created.portforward(remote_port=8080) as port:
            async with httpx.AsyncClient() as http:
                response = await http.get(f"http://127.0.0.1:{port}/hostname")
        self.assertEqual((response.status_code, response.text), (200, "server"))


if __name__ == "__main__":
    unittest.main()
