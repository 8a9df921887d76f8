//! SkyPilot's command line, with its API server on this machine.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};

use kueue_lab_testing::{has_tool, skip};

use crate::cluster::Cluster;
use crate::package_directory::{printed, sources};
use crate::python::python;

/// The address of SkyPilot's API server, of which a user has one.
const API_SERVER: &str = "127.0.0.1:46580";

/// A queue for 2 CPUs in which workloads of a higher priority preempt others.
const QUEUES: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: sky}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: any
      resources:
      - {name: cpu, nominalQuota: 2}
      - {name: memory, nominalQuota: 100Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: sky, namespace: default}
spec: {clusterQueue: sky}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 1
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 2
";

/// SkyPilot's configuration: every cluster is queued.
const CONFIG: &str = "kubernetes: {kueue: {local_queue_name: sky}}\n";

/// Images that SkyPilot would look up in the internet.
const IMAGES: &str = "\
Tag,Region,OS,OSVersion,ImageId,CreationDate
skypilot:custom-cpu-ubuntu-2204-v1,,ubuntu,22.04,skypilot/cpu,20240101
skypilot:custom-gpu-ubuntu-2204-v1,,ubuntu,22.04,skypilot/gpu,20240101
";

const LOW: &str = "\
name: low
workdir: work
envs: {GREETING: it's me}
resources: {infra: kubernetes, cpus: 1, labels: {kueue.x-k8s.io/priority-class: low}}
num_nodes: 2
setup: echo setting up
run: |
  for file in *.txt; do echo \"$GREETING $SKYPILOT_NODE_RANK: $(cat $file)\"; done
";

const HIGH: &str = "\
name: high
resources: {infra: kubernetes, cpus: 2, labels: {kueue.x-k8s.io/priority-class: high}}
run: echo on $(hostname)
";

/// A home directory with SkyPilot's files, and its API server, which ends with this value.
struct Sky {
    bin: PathBuf,
    home: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Sky {
    fn write(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, program: &str, args: &[&str]) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new(program)
            .args(args)
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("SKYPILOT_DISABLE_USAGE_COLLECTION", "1")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .output()
            .unwrap()
    }

    /// The output of `sky`, which must have this exit code.
    fn run(&self, code: i32, args: &[&str]) -> String {
        let program = self.bin.join("sky");
        let output = self.command(&program.display().to_string(), args);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(code), "sky {args:?}: {text}");
        text
    }

    /// The output of `kubectl`, which must succeed.
    fn kubectl(&self, args: &[&str]) -> String {
        let output = self.command("kubectl", args);
        let text = printed(&output);
        assert!(output.status.success(), "kubectl {args:?}: {text}");
        text
    }
}

impl Drop for Sky {
    fn drop(&mut self) {
        let program = self.bin.join("sky").display().to_string();
        self.command(&program, &["api", "stop"]);
    }
}

/// All parts are in the text, in this order.
fn assert_parts(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let found = rest.split_once(part);
        rest = found.unwrap_or_else(|| panic!("no {part:?} in {text}")).1;
    }
}

#[test]
#[ignore = "takes minutes, and installs SkyPilot with some hundred packages; see docs/suite.md"]
fn sky() {
    for (tool, option) in [
        ("kubectl", "--help"),
        ("rsync", "--version"),
        ("socat", "-V"),
        ("nc", "-h"),
    ] {
        if !has_tool(tool, &[option]) {
            return;
        }
    }
    let Some(python) = python(&sources("python").join("requirements-skypilot.txt"), &[]) else {
        return;
    };
    if TcpStream::connect(API_SERVER).is_ok() {
        skip("SkyPilot's API server runs on this machine");
        return;
    }
    let cluster = Cluster::start();
    let sky = Sky {
        bin: python.parent().unwrap().to_owned(),
        home: tempfile::tempdir().unwrap(),
        kubeconfig: cluster.kubeconfig().to_owned(),
    };
    for (name, text) in [
        (".sky/config.yaml", CONFIG),
        (".sky/catalogs/v8/kubernetes/images.csv", IMAGES),
        ("queues.yaml", QUEUES),
        ("low.yaml", LOW),
        ("high.yaml", HIGH),
        ("work/a.txt", "from the client"),
    ] {
        sky.write(name, text);
    }
    sky.kubectl(&["apply", "-f", "queues.yaml"]);

    let text = sky.run(0, &["check", "kubernetes"]);
    assert_parts(&text, &["Kubernetes: enabled"]);

    // Two nodes as one workload; files, environment, setup and commands of the task.
    let text = sky.run(0, &["launch", "-y", "-c", "low", "low.yaml"]);
    for line in [
        "setting up",
        "it's me 0: from the client",
        "it's me 1: from the client",
    ] {
        assert_parts(&text, &[line, "Job finished (status: SUCCEEDED)"]);
    }
    let workloads = [
        "get",
        "workloads",
        "-o",
        "jsonpath={.items[*].status.admission.podSetAssignments[0].count}",
    ];
    assert_eq!(sky.kubectl(&workloads), "2");

    let text = sky.run(
        100,
        &["exec", "low", "--num-nodes", "1", "echo failing; exit 7"],
    );
    assert_parts(&text, &["failing", "[7]", "Job finished (status: FAILED)"]);
    let text = sky.run(
        0,
        &["exec", "-d", "low", "--num-nodes", "1", "sleep 100000"],
    );
    assert_parts(&text, &["Job submitted, ID: 3"]);
    let text = sky.run(0, &["cancel", "-y", "low", "3"]);
    assert_parts(&text, &["Cancelled job ID(s): 3"]);
    let text = sky.run(0, &["queue", "low"]);
    assert_parts(
        &text,
        &["\n3 ", "CANCELLED", "\n2 ", "FAILED", "\n1 ", "SUCCEEDED"],
    );
    let text = sky.run(0, &["logs", "low", "1"]);
    assert_parts(
        &text,
        &["from the client", "Job finished (status: SUCCEEDED)"],
    );

    // The quota is in use: a cluster of a higher priority preempts the first one.
    let text = sky.run(0, &["launch", "-y", "-c", "high", "high.yaml"]);
    assert_parts(&text, &["on high-", "Job finished (status: SUCCEEDED)"]);
    let events = [
        "get",
        "events",
        "--field-selector",
        "reason=Preempted",
        "-o",
        "name",
    ];
    assert_ne!(sky.kubectl(&events), "");
    let text = sky.run(0, &["status", "--refresh"]);
    assert_parts(&text, &["high", " UP "]);
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("low ") && line.contains(" UP ")),
        "{text}"
    );

    sky.run(0, &["down", "-y", "high", "low"]);
    assert_eq!(sky.kubectl(&["get", "pods", "-o", "name"]), "");
}
