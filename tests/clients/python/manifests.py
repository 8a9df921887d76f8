"""Objects of the test cases."""


def pod(name, script, **spec):
    """A Pod with one container `c` that runs a shell script."""
    container = {"name": "c", "image": "busybox:1.37", "command": ["sh", "-c", script]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        },
    }


def netexec(name):
    """A Pod with an HTTP server on port 8080."""
    container = {
        "name": "c",
        "image": "registry.k8s.io/e2e-test-images/agnhost:2.53",
        "args": ["netexec", "--http-port=8080"],
        "ports": [{"containerPort": 8080}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def deployment(name, replicas):
    """A Deployment whose pods have the label `app`."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }
