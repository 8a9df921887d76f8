"""The official Python client (`kubernetes`)."""

import json
import threading
import time
import unittest

import urllib3
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.stream import portforward, stream

from manifests import deployment, netexec, pod
from namespace import namespace

TIMEOUT = 60


class KubernetesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.core = client.CoreV1Api()
        cls.apps = client.AppsV1Api()
        cls.batch = client.BatchV1Api()

    def setUp(self):
        self.namespace = self.enterContext(namespace())

    def wait_for(self, list_function, condition):
        """Watches a list until an event satisfies the condition."""
        seen = []
        for event in watch.Watch().stream(
            list_function, self.namespace, timeout_seconds=TIMEOUT
        ):
            seen.append(event["type"])
            if condition(event["object"]):
                return seen
        self.fail(f"watch ended after {seen}")

    def running(self, body):
        """Creates a Pod and waits until it is ready."""
        self.core.create_namespaced_pod(self.namespace, body)

        def ready(p):
            conditions = p.status.conditions or []
            return any(c.type == "Ready" and c.status == "True" for c in conditions)

        self.wait_for(self.core.list_namespaced_pod, ready)

    def refused(self, code, call, *args, **kwargs):
        """The Status of a request that must fail."""
        with self.assertRaises(ApiException) as raised:
            call(*args, **kwargs)
        self.assertEqual(raised.exception.status, code)
        status = json.loads(raised.exception.body)
        self.assertEqual((status["kind"], status["code"]), ("Status", code))
        return status

    def test_version_and_groups(self):
        self.assertRegex(client.VersionApi().get_code().git_version, r"^v1\.\d+")
        groups = [g.name for g in client.ApisApi().get_api_versions().groups]
        self.assertIn("apps", groups)

    def test_pod_runs_and_is_watched(self):
        self.core.create_namespaced_pod(self.namespace, pod("p", "echo hello; sleep 1"))
        seen = self.wait_for(
            self.core.list_namespaced_pod, lambda p: p.status.phase == "Succeeded"
        )
        self.assertEqual(seen[0], "ADDED")
        self.assertEqual(
            self.core.read_namespaced_pod_log("p", self.namespace), "hello\n"
        )

    def test_log_is_followed(self):
        self.running(pod("p", "for i in 1 2 3; do echo $i; sleep 1; done"))
        log = self.core.read_namespaced_pod_log(
            "p", self.namespace, follow=True, _preload_content=False
        )
        self.assertEqual(log.read(), b"1\n2\n3\n")

    def test_informer(self):
        create = self.core.create_namespaced_config_map
        create(self.namespace, {"metadata": {"name": "before"}})
        informer = SharedInformer(
            self.core.list_namespaced_config_map, self.namespace
        )
        events, changed = [], threading.Condition()

        def add(kind):
            def handle(found):
                with changed:
                    events.append((kind, found.metadata.name))
                    changed.notify_all()

            informer.add_event_handler(kind, handle)

        def seen(*event):
            with changed:
                found = changed.wait_for(lambda: event in events, TIMEOUT)
            self.assertTrue(found, f"no {event} in {events}")

        for kind in ["ADDED", "MODIFIED", "DELETED"]:
            add(kind)
        informer.start()
        self.addCleanup(informer.stop)
        seen("ADDED", "before")
        create(self.namespace, {"metadata": {"name": "after"}})
        seen("ADDED", "after")
        self.core.patch_namespaced_config_map(
            "after", self.namespace, {"data": {"a": "1"}}
        )
        seen("MODIFIED", "after")
        cached = informer.cache.get_by_key(f"{self.namespace}/after")
        self.assertEqual(cached.data, {"a": "1"})
        self.core.delete_namespaced_config_map("before", self.namespace)
        seen("DELETED", "before")
        self.assertNotIn(f"{self.namespace}/before", informer.cache.list_keys())
        # Each event once: the watch continues where the list ended.
        self.assertEqual(len(events), len(set(events)))

    def test_patches(self):
        name = self.namespace
        body = {"metadata": {"name": "c"}, "data": {"a": "1"}}
        self.core.create_namespaced_config_map(name, body)
        patched = self.core.patch_namespaced_config_map("c", name, {"data": {"b": "2"}})
        self.assertEqual(patched.data, {"a": "1", "b": "2"})
        operations = [{"op": "remove", "path": "/data/a"}]
        patched = self.core.patch_namespaced_config_map("c", name, operations)
        self.assertEqual(patched.data, {"b": "2"})

    def test_conflict_of_updates(self):
        name = self.namespace
        self.core.create_namespaced_config_map(name, {"metadata": {"name": "c"}})
        old = self.core.read_namespaced_config_map("c", name)
        self.core.patch_namespaced_config_map("c", name, {"data": {"a": "1"}})
        status = self.refused(
            409, self.core.replace_namespaced_config_map, "c", name, old
        )
        self.assertEqual(status["reason"], "Conflict")

    def test_errors(self):
        read = self.core.read_namespaced_pod
        self.assertEqual(
            self.refused(404, read, "none", self.namespace)["message"],
            'pods "none" not found',
        )
        invalid = {"metadata": {"name": "p"}, "spec": {"containers": []}}
        create = self.core.create_namespaced_pod
        causes = self.refused(422, create, self.namespace, invalid)["details"]["causes"]
        self.assertEqual([c["field"] for c in causes], ["spec.containers"])

    def test_pages(self):
        for i in range(5):
            body = {"metadata": {"name": f"c{i}", "labels": {"page": "yes"}}}
            self.core.create_namespaced_config_map(self.namespace, body)
        names, token = [], None
        while True:
            page = self.core.list_namespaced_config_map(
                self.namespace, limit=2, _continue=token, label_selector="page=yes"
            )
            names += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                break
        self.assertEqual(names, [f"c{i}" for i in range(5)])

    def test_scale_of_deployment(self):
        self.apps.create_namespaced_deployment(self.namespace, deployment("d", 1))
        self.apps.patch_namespaced_deployment_scale(
            "d", self.namespace, {"spec": {"replicas": 3}}
        )
        self.wait_for(
            self.apps.list_namespaced_deployment,
            lambda d: d.status.available_replicas == 3,
        )
        scale = self.apps.read_namespaced_deployment_scale("d", self.namespace)
        self.assertEqual((scale.status.replicas, scale.status.selector), (3, "app=d"))

    def test_eviction(self):
        self.running(pod("p", "sleep 600", terminationGracePeriodSeconds=0))
        body = {"metadata": {"name": "p", "namespace": self.namespace}}
        self.core.create_namespaced_pod_eviction("p", self.namespace, body)
        for _ in range(TIMEOUT):
            if not self.core.list_namespaced_pod(self.namespace).items:
                return
            time.sleep(1)
        self.fail("the evicted pod is still there")

    def test_dynamic_client_applies(self):
        api = dynamic.DynamicClient(client.ApiClient())
        maps = api.resources.get(api_version="v1", kind="ConfigMap")
        for manager, key in [("one", "a"), ("two", "b")]:
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": self.namespace},
                "data": {key: manager},
            }
            maps.server_side_apply(body=body, field_manager=manager)
        got = maps.get(name="c", namespace=self.namespace)
        self.assertEqual(dict(got.data), {"a": "one", "b": "two"})
        managers = [entry.manager for entry in got.metadata.managedFields]
        self.assertEqual(sorted(managers), ["one", "two"])

    def test_create_from_dict(self):
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": self.namespace},
            "spec": {"template": {"spec": pod("x", "true")["spec"]}},
        }
        utils.create_from_dict(client.ApiClient(), job)
        self.wait_for(self.batch.list_namespaced_job, lambda j: j.status.succeeded == 1)

    def test_leader_election(self):
        leads = threading.Event()

        def candidate(identity, started):
            lock = LeaseLock("leader", self.namespace, identity)
            settings = electionconfig.Config(
                lock,
                lease_duration=15,
                renew_deadline=10,
                retry_period=1,
                onstarted_leading=started,
                onstopped_leading=lambda: None,
            )
            election = leaderelection.LeaderElection(settings)
            threading.Thread(target=election.run, daemon=True).start()

        candidate("first", leads.set)
        self.assertTrue(leads.wait(TIMEOUT))
        candidate("second", lambda: self.fail("two leaders"))
        lease = client.CoordinationV1Api().read_namespaced_lease(
            "leader", self.namespace
        )
        self.assertEqual(lease.spec.holder_identity, "first")

    def test_expired_lease_is_taken_over(self):
        leads = threading.Event()
        lock = LeaseLock("leader", self.namespace, "second")
        client.CoordinationV1Api().create_namespaced_lease(
            self.namespace,
            {
                "metadata": {"name": "leader"},
                "spec": {
                    "holderIdentity": "first",
                    "leaseDurationSeconds": 1,
                    "acquireTime": "2026-01-01T00:00:00.000001Z",
                    "renewTime": "2026-01-01T00:00:00.000001Z",
                    "leaseTransitions": 3,
                },
            },
        )
        settings = electionconfig.Config(
            lock,
            lease_duration=4,
            renew_deadline=3,
            retry_period=1,
            onstarted_leading=leads.set,
            onstopped_leading=lambda: None,
        )
        election = leaderelection.LeaderElection(settings)
        threading.Thread(target=election.run, daemon=True).start()
        self.assertTrue(leads.wait(TIMEOUT))
        lease = client.CoordinationV1Api().read_namespaced_lease(
            "leader", self.namespace
        )
        self.assertEqual(lease.spec.holder_identity, "second")

    def test_exec(self):
        self.running(pod("p", "sleep 600"))
        command = ["sh", "-c", "echo out; echo err >&2; exit 3"]
        session = stream(
            self.core.connect_get_namespaced_pod_exec,
            "p",
            self.namespace,
            command=command,
            stdout=True,
            stderr=True,
            _preload_content=False,
        )
        session.run_forever(timeout=TIMEOUT)
        self.assertEqual(session.read_stdout(), "out\n")
        self.assertEqual(session.read_stderr(), "err\n")
        self.assertEqual(session.returncode, 3)

    def test_exec_with_stdin(self):
        self.running(pod("p", "sleep 600"))
        session = stream(
            self.core.connect_get_namespaced_pod_exec,
            "p",
            self.namespace,
            command=["sh"],
            stdin=True,
            stdout=True,
            stderr=True,
            _preload_content=False,
        )
        session.write_stdin("echo first > /tmp/file\n")
        session.write_stdin("cat /tmp/file\n")
        self.assertEqual(session.readline_stdout(timeout=TIMEOUT), "first")
        session.write_stdin("exit\n")
        session.run_forever(timeout=TIMEOUT)
        self.assertEqual(session.returncode, 0)

    def test_port_forward(self):
        self.running(netexec("server"))
        forward = portforward(
            self.core.connect_get_namespaced_pod_portforward,
            "server",
            self.namespace,
            ports="8080",
        )
        socket = forward.socket(8080)
        socket.setblocking(True)
        socket.sendall(
            b"GET /hostname HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n"
        )
        response = b""
        while chunk := socket.recv(1024):
            response += chunk
        socket.close()
        self.assertIsNone(forward.error(8080))
        head, _, body = response.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 200 OK"), head)
        self.assertEqual(body, b"server")

    def test_proxy(self):
        self.running(netexec("server"))
        proxy = self.core.connect_get_namespaced_pod_proxy_with_path
        body = proxy("server:8080", self.namespace, "echo", _preload_content=False)
        self.assertIsInstance(body, urllib3.HTTPResponse)
        self.assertEqual(proxy("server:8080", self.namespace, "hostname"), "server")


if __name__ == "__main__":
    unittest.main()
