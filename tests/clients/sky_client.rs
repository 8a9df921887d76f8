//! [`Sky`]: SkyPilot's command line and its API server on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Images that SkyPilot would look up in the internet.
const IMAGES: &str = "\
Tag,Region,OS,OSVersion,ImageId,CreationDate
skypilot:custom-cpu-ubuntu-2204-v1,,ubuntu,22.04,skypilot/cpu,20240101
skypilot:custom-gpu-ubuntu-2204-v1,,ubuntu,22.04,skypilot/gpu,20240101
";

/// A cluster and SkyPilot's API server on this machine, which end with this value.
pub(crate) struct Sky {
    bin: PathBuf,
    home: tempfile::TempDir,
    cluster: Cluster,
    /// The address of the HTTP server that SkyPilot asks whether there is a network.
    network_check: String,
    _api_server: MutexGuard<'static, ()>,
}

impl Sky {
    /// A cluster with the queue `sky`, and a home directory with these files. `None` if a tool or SkyPilot is missing,
    /// which skips the test.
    pub(crate) fn start(files: &[(&str, &str)]) -> Option<Self> {
        static API_SERVER_GUARD: Mutex<()> = Mutex::new(());
        let guard = API_SERVER_GUARD.lock();
        let guard = guard.unwrap_or_else(PoisonError::into_inner);
        let tools = [
            ("kubectl", "--help"),
            ("rsync", "--version"),
            ("socat", "-V"),
            ("nc", "-h"),
        ];
        if !tools.iter().all(|(tool, option)| has_tool(tool, &[option])) {
            return None;
        }
        let python = python(&sources("python").join("requirements-skypilot.txt"), &[])?;
        if TcpStream::connect(API_SERVER).is_ok() {
            skip("SkyPilot's API server runs on this machine");
            return None;
        }
        let sky = Self {
            bin: python.parent().unwrap().to_owned(),
            home: tempfile::tempdir().unwrap(),
            cluster: Cluster::start(),
            network_check: serve_network_check(),
            _api_server: guard,
        };
        let catalog = ".sky/catalogs/v8/kubernetes/images.csv";
        for (name, text) in [(catalog, IMAGES), ("queues.yaml", QUEUES)] {
            sky.write(name, text);
        }
        for (name, text) in files {
            sky.write(name, text);
        }
        sky.kubectl(&["apply", "-f", "queues.yaml"]);
        Some(sky)
    }

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
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("SKYPILOT_DISABLE_USAGE_COLLECTION", "1")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("PYTHONPATH", sources("python").join("network_check"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NETWORK_CHECK", &self.network_check)
            .output()
            .unwrap()
    }

    /// The output of `sky`, which must have this exit code.
    pub(crate) fn run(&self, code: i32, args: &[&str]) -> String {
        let program = self.bin.join("sky");
        let output = self.command(&program.display().to_string(), args);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(code), "sky {args:?}: {text}");
        text
    }

    /// The output of `kubectl`, which must succeed.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
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

/// Answers every request with success until the process ends.
fn serve_network_check() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = connection.write_all(response.as_bytes());
        }
    });
    format!("http://{address}")
}
