//! kubectl's `exec`, `cp`, `port-forward` and `proxy` on a running lab, over WebSocket and SPDY.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{Lab, LabConfig, NodePools};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const NODES: &str =
    "pools:\n- {name: cpu, count: 1, resources: {cpu: 16, memory: 64Gi, pods: 110}}\n";
const PRESET: &str = "\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: unused}
value: 1
";
const PODS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: ubuntu, command: [sleep, infinity]}
---
apiVersion: v1
kind: Pod
metadata: {name: net, labels: {app: net}}
spec:
  containers:
  - {name: c, image: registry.k8s.io/e2e-test-images/agnhost:2.59, args: [netexec]}
---
apiVersion: v1
kind: Service
metadata: {name: net}
spec: {selector: {app: net}, ports: [{port: 80, targetPort: 8080}]}
";
/// Timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// kubectl with the kubeconfig of a lab.
#[derive(Clone)]
struct Kubectl {
    kubeconfig: PathBuf,
    folder: PathBuf,
    websockets: bool,
}

impl Kubectl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        let websockets = self.websockets.to_string();
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", &websockets)
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", &websockets)
            .current_dir(&self.folder)
            .args(arguments);
        command
    }

    /// Runs a command with this input.
    async fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        let file = self.folder.join("input");
        std::fs::write(&file, input).unwrap();
        let mut command = self.command(arguments);
        command.stdin(std::fs::File::open(file).unwrap());
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    /// The output of a command that succeeds.
    async fn run(&self, arguments: &[&str]) -> String {
        let output = self.run_with(arguments, "").await;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "kubectl {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A process that is killed at the end of the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The port on which `kubectl port-forward` listens.
async fn forwarded_port(log: &Path) -> u16 {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let text = std::fs::read_to_string(log).unwrap();
        let port = text.split("127.0.0.1:").nth(1);
        if let Some((port, _)) = port.and_then(|rest| rest.split_once(' ')) {
            return port.parse().unwrap();
        }
        assert!(Instant::now() < deadline, "{text}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn streams_work(kubectl: &Kubectl) {
    let script = [
        "exec",
        "p",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 3",
    ];
    let output = kubectl.run_with(&script, "").await;
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(output.stdout, b"out\n");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.starts_with("err\n") && error.ends_with("exit code 3\n"),
        "{error}"
    );
    let input = "for i in 1 2; do echo line $i; done\nexit 4\n";
    let output = kubectl
        .run_with(&["exec", "-i", "p", "--", "sh"], input)
        .await;
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(4), &b"line 1\nline 2\n"[..])
    );
    let output = kubectl.run_with(&["exec", "p", "--", "nothing"], "").await;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("exec: \"nothing\": executable file not found in $PATH: unknown"),
        "{error}"
    );

    let data: Vec<u8> = (0..500_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    std::fs::write(kubectl.folder.join("data"), &data).unwrap();
    kubectl.run(&["cp", "data", "p:/tmp/data"]).await;
    kubectl.run(&["cp", "p:/tmp/data", "copy"]).await;
    assert!(
        std::fs::read(kubectl.folder.join("copy")).unwrap() == data,
        "the copies are equal"
    );

    let log = kubectl
        .folder
        .join(format!("forward-{}", kubectl.websockets));
    let mut forward = kubectl.command(&["port-forward", "pod/net", ":8080"]);
    forward
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&log).unwrap());
    let _forward = Background(forward.spawn().unwrap());
    let port = forwarded_port(&log).await;
    for _ in 0..3 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = b"GET /hostname HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.ends_with("\r\n\r\nnet"), "{response}");
    }
}

/// The API server is reached from a container, as the ServiceAccount of its Pod.
async fn containers_reach_the_api_server(kubectl: &Kubectl) {
    let request = |options: &str| {
        let folder = "/var/run/secrets/kubernetes.io/serviceaccount";
        format!(
            "D={folder}; curl -sS {options} -H \"Authorization: Bearer $(cat $D/token)\" \
             https://kubernetes.default.svc/api/v1/namespaces/default/pods"
        )
    };
    let exec = async |script: &str| {
        let arguments = ["exec", "p", "--", "sh", "-c", script];
        let output = kubectl.run_with(&arguments, "").await;
        let text = [output.stdout, output.stderr].map(|t| String::from_utf8(t).unwrap());
        (output.status.code(), text.concat())
    };
    let (code, text) = exec(&request("")).await;
    assert_eq!(code, Some(60), "{text}");
    let (_, text) = exec(&request("--cacert $D/ca.crt")).await;
    let user = "User \\\"system:serviceaccount:default:default\\\" cannot list resource";
    assert!(text.contains(user), "{text}");
    let binding = ["create", "rolebinding", "view", "--clusterrole=view"];
    let account = ["--serviceaccount=default:default"];
    kubectl.run(&[&binding[..], &account[..]].concat()).await;
    let status = request("--cacert $D/ca.crt -o /dev/null -w 'status=%{http_code}'");
    let (code, text) = exec(&format!("{status} | awk -F= '{{print $2}}'")).await;
    assert_eq!((code, text.as_str()), (Some(0), "200\n"));
    let node = "/api/v1/nodes/cpu-0/proxy";
    assert_eq!(
        kubectl
            .run(&["get", "--raw", &format!("{node}/healthz")])
            .await,
        "ok"
    );
    let pods = kubectl
        .run(&["get", "--raw", &format!("{node}/pods")])
        .await;
    assert!(
        pods.contains("\"kind\":\"PodList\"") && pods.contains("\"name\":\"net\""),
        "{pods}"
    );
    let output = kubectl
        .run_with(&["get", "--raw", &format!("{node}/nope")], "")
        .await;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("could not find the requested resource"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_streams_over_websocket_and_spdy() {
    if !kueue_lab_testing::has_tool("kubectl", &["version", "--client"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let presets = folder.path().join("presets");
    std::fs::create_dir_all(presets.join("empty")).unwrap();
    std::fs::write(presets.join("empty/a.yaml"), PRESET).unwrap();
    let mut config = LabConfig::embedded(Clock::real(), Entropy::seeded(1), presets);
    config.presets.active = Some("empty".into());
    config.cluster.port = Some(0);
    config.components.nodes = NodePools::parse(NODES).unwrap();
    config.components.operators = false;
    config.components.controller = false;
    let lab = Lab::start(config);
    let lab = lab.await.unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    lab.cluster().write_kubeconfig(&kubeconfig).unwrap();
    let kubectl = |websockets| Kubectl {
        kubeconfig: kubeconfig.clone(),
        folder: folder.path().to_owned(),
        websockets,
    };
    let spdy = kubectl(false);
    let output = spdy.run_with(&["apply", "-f", "-"], PODS).await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let ready = [
        "wait",
        "--for=condition=Ready",
        "pod/p",
        "pod/net",
        "--timeout=60s",
    ];
    spdy.run(&ready).await;
    streams_work(&spdy).await;
    streams_work(&kubectl(true)).await;
    containers_reach_the_api_server(&spdy).await;

    let core = "/api/v1/namespaces/default";
    for (path, expected) in [
        ("pods/net:8080/proxy/hostname", "net"),
        ("pods/http:net:8080/proxy/echo?msg=a%20b", "a b"),
        ("services/net:80/proxy/hostname", "net"),
        (
            "services/net/proxy/header?key=x-forwarded-uri",
            "/api/v1/namespaces/default/services/net/proxy/header",
        ),
        ("services/net/proxy/header?key=authorization", ""),
    ] {
        let text = spdy.run(&["get", "--raw", &format!("{core}/{path}")]).await;
        assert_eq!(text, expected, "{path}");
    }
    for (path, expected) in [
        (
            "pods/net:81/proxy/",
            "error trying to reach service: dial tcp ",
        ),
        ("services/none/proxy/", "services \"none\" not found"),
        (
            "services/net:81/proxy/",
            "no service port 81 found for service \"net\"",
        ),
        ("pods/a:b:c:d/proxy/", "invalid pod request \"a:b:c:d\""),
    ] {
        let output = spdy
            .run_with(&["get", "--raw", &format!("{core}/{path}")], "")
            .await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected), "{path}: {error}");
    }
    lab.stop().await;
}
