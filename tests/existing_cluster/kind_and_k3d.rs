//! kind and k3d, replaced by scripts on PATH that record each call, with an API server of this process as
//! the cluster.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use crate::external_cluster::ExternalCluster;
use crate::lab_lifecycle::work_dir;
use crate::lab_process::{RunningLab, WorkDir};

/// The fake kind: a cluster exists if the file `clusters` names it.
const FAKE_KIND: &str = r#"
case "$*" in
version) echo "kind v0.30.0 go1.24.6 linux/amd64" ;;
"get clusters") cat clusters 2>/dev/null || echo "No kind clusters found." >&2 ;;
"create cluster --name kueue-lab "*)
  printf 'Creating cluster "kueue-lab" ...\n • Preparing nodes 📦 📦 📦   ...\n ✓ Preparing nodes 📦 📦 📦 \n' >&2
  echo kueue-lab > clusters ;;
"get kubeconfig --name kueue-lab") cat kubeconfig-of-tool ;;
"delete cluster --name kueue-lab") rm -f clusters; echo 'Deleting cluster "kueue-lab" ...' >&2 ;;
*) echo "ERROR: unknown command" >&2; exit 1 ;;
esac
"#;

/// The fake docker on Linux with its daemon running. The cluster is on loopback.
const FAKE_DOCKER: &str = r#"
case "$*" in
"info --format "*) echo "Debian GNU/Linux 12 (bookworm)" ;;
"ps --all --no-trunc --filter label=io.x-k8s.kind.cluster=kueue-lab "*)
  if [ -e clusters ]; then cat containers; fi ;;
"start "*) sed -i 's/exited/running/' containers ;;
"network inspect kind "*) echo "fc00:f853:ccd:e793::1 127.0.0.1 " ;;
*) exit 1 ;;
esac
"#;

const DAEMON_DOWN: &str = r#"
echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2
exit 1
"#;

/// A machine with some programs on PATH.
struct FakeToolsPath {
    work_dir: WorkDir,
}

impl FakeToolsPath {
    fn new() -> Self {
        let work_dir = work_dir();
        std::fs::create_dir(work_dir.path().join("bin")).unwrap();
        work_dir.write("containers", "3f1c running\n9ab2 running\nc0de running\n");
        Self { work_dir }
    }

    /// Adds a program to PATH.
    fn add_program(&self, name: &str, body: &str) {
        let folder = self.work_dir.path().display();
        let text = format!("#!/bin/sh\ncd '{folder}'\necho \"{name} $*\" >> calls\n{body}");
        let path = self.work_dir.path().join("bin").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes this cluster the tool's cluster.
    fn cluster(&self, cluster: &ExternalCluster, context: &str) {
        let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
        let text = text.replace(": other", &format!(": {context}"));
        assert!(text.contains(context));
        self.work_dir.write("kubeconfig-of-tool", &text);
    }

    /// The calls since the last call of this function, without read-only ones.
    fn calls(&self) -> Vec<String> {
        let path = self.work_dir.path().join("calls");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        text.lines().map(str::to_owned).collect()
    }

    fn state(&self) -> PathBuf {
        self.work_dir.path().join(".local/state/kueue-lab")
    }

    fn path_variable(&self) -> String {
        format!(
            "{}:/usr/bin:/bin",
            self.work_dir.path().join("bin").display()
        )
    }

    async fn run(&self, args: &[&str]) -> Output {
        let mut command = self.work_dir.command(args);
        command.env("PATH", self.path_variable());
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    async fn rejected(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args).await;
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?} printed {printed}"
        );
        let complaint = printed.lines().find_map(|l| l.strip_prefix("error: "));
        complaint.unwrap_or_else(|| panic!("{printed}")).to_owned()
    }

    async fn start(&self, tool: &str) -> RunningLab {
        let mut command = self.work_dir.command(&up(tool));
        command.env("PATH", self.path_variable());
        self.work_dir.start_command(command).await
    }
}

fn up(tool: &str) -> [&str; 9] {
    [
        "up",
        "--headless",
        "--cluster",
        tool,
        "--presets-dir",
        "presets",
        "--preset",
        "p",
        "--nodes=nodes.yaml",
    ]
}

/// Removing docker and podman from PATH is impossible if they are in /usr/bin.
fn has_engine() -> bool {
    let there = |name: &&str| std::path::Path::new("/usr/bin").join(name).exists();
    let found = ["docker", "podman", "kind", "k3d"].iter().any(there);
    if found {
        let reason = "this machine has container tools in /usr/bin";
        kueue_lab_testing::record_skip(kueue_lab_testing::SkipReason::Other(reason));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_cluster_is_created_reused_and_deleted() {
    let cluster = ExternalCluster::start().await;
    let machine = FakeToolsPath::new();
    machine.add_program("docker", FAKE_DOCKER);
    machine.add_program("kind", FAKE_KIND);
    machine.cluster(&cluster, "kind-kueue-lab");
    machine.work_dir.write(
        ".kube/config",
        "apiVersion: v1\nkind: Config\ncurrent-context: prod\nclusters: []\nusers: []\ncontexts: []\n",
    );
    let lab = machine.start("kind").await;
    let state = machine.state().display().to_string();
    let calls = machine.calls();
    let ps = "docker ps --all --no-trunc --filter label=io.x-k8s.kind.cluster=kueue-lab --format {{.ID}} {{.State}}";
    let (create, others): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .partition(|call| call.starts_with("kind create"));
    assert_eq!(
        others,
        [
            "docker info --format {{.OperatingSystem}}",
            "kind version",
            "kind get clusters",
            ps,
            ps,
            "kind get kubeconfig --name kueue-lab",
            "docker network inspect kind --format {{range .IPAM.Config}}{{.Gateway}} {{end}}",
        ]
    );
    let config = format!("--config {state}/kind.yaml --kubeconfig {state}/");
    assert!(
        create[0].starts_with(&format!("kind create cluster --name kueue-lab {config}")),
        "{create:?}"
    );
    assert!(create[0].ends_with(" --wait 180s"), "{create:?}");
    let description = std::fs::read_to_string(format!("{state}/kind.yaml")).unwrap();
    assert!(description.contains("@sha256:"), "{description}");
    assert!(lab.log().contains("Preparing nodes"), "{}", lab.log());
    // The context is added to the user's kubeconfig; existing entries are unchanged.
    let users = std::fs::read_to_string(machine.work_dir.path().join(".kube/config")).unwrap();
    assert!(
        users.contains("kind-kueue-lab") && users.contains("current-context: prod"),
        "{users}"
    );
    assert_eq!(lab.stop().await, Some(0));

    // After a restart of the machine its containers are stopped.
    machine
        .work_dir
        .write("containers", "3f1c exited\n9ab2 exited\nc0de running\n");
    let lab = machine.start("kind").await;
    let calls = machine.calls();
    assert!(
        !calls.iter().any(|c| c.starts_with("kind create")),
        "{calls:?}"
    );
    assert!(
        calls.contains(&"docker start 3f1c 9ab2".to_owned()),
        "{calls:?}"
    );
    assert_eq!(lab.stop().await, Some(0));

    let gone = machine.run(&["down"]).await;
    assert_eq!(
        String::from_utf8_lossy(&gone.stdout),
        "deleted the cluster kind-kueue-lab\n"
    );
    assert!(
        machine
            .calls()
            .contains(&"kind delete cluster --name kueue-lab".to_owned())
    );
    let nothing = machine.rejected(&["down"], 2).await;
    assert!(
        nothing.starts_with("there is no record of a cluster"),
        "{nothing}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_cluster_of_the_same_name_needs_confirmation_and_stays() {
    let cluster = ExternalCluster::start().await;
    let machine = FakeToolsPath::new();
    machine.add_program("docker", FAKE_DOCKER);
    machine.add_program("kind", FAKE_KIND);
    machine.cluster(&cluster, "kind-kueue-lab");
    machine.work_dir.write("clusters", "kind\nkueue-lab\n");
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(printed.contains("confirm with --yes"), "{printed}");
    let printed = machine.rejected(&["down", "--cluster", "kind"], 2).await;
    assert!(
        printed.contains("was not created by kueue-lab, so it is not deleted"),
        "{printed}"
    );
    assert!(!machine.calls().iter().any(|c| c.contains("delete")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_creation_is_repeated() {
    let cluster = ExternalCluster::start().await;
    let machine = FakeToolsPath::new();
    machine.add_program("docker", FAKE_DOCKER);
    machine.add_program("kind", FAKE_KIND);
    machine.cluster(&cluster, "kind-kueue-lab");
    machine.work_dir.write("clusters", "kueue-lab\n");
    machine.work_dir.write(
        ".local/state/kueue-lab/clusters/kind-kueue-lab.json",
        r#"{"containers":[]}"#,
    );
    let lab = machine.start("kind").await;
    let calls = machine.calls();
    let at = |what: &str| calls.iter().position(|c| c.starts_with(what)).unwrap();
    assert!(
        at("kind delete cluster") < at("kind create cluster"),
        "{calls:?}"
    );
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn k3d_gets_its_own_arguments() {
    let cluster = ExternalCluster::start().await;
    let machine = FakeToolsPath::new();
    machine.add_program(
        "docker",
        &FAKE_DOCKER.replace("io.x-k8s.kind.cluster", "k3d.cluster"),
    );
    machine.add_program(
        "k3d",
        r#"
case "$*" in
version) printf 'k3d version v5.8.3\nk3s version v1.31.5-k3s1 (default)\n' ;;
"cluster list --output json")
  if [ -e clusters ]; then echo '[{"name":"kueue-lab","serversCount":1,"serversRunning":1}]'; else echo '[]'; fi ;;
"cluster create kueue-lab "*) echo "INFO[0000] Creating node 'k3d-kueue-lab-server-0'" >&2; echo > clusters ;;
"kubeconfig get kueue-lab") cat kubeconfig-of-tool ;;
"cluster delete kueue-lab") rm clusters ;;
*) exit 1 ;;
esac
"#,
    );
    machine.cluster(&cluster, "k3d-kueue-lab");
    // The cluster does not resolve k3d's name of this machine.
    let output = machine.run(&up("k3d")).await;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        printed
            .contains("cannot call the webhooks of this kueue-lab at https://host.k3d.internal:"),
        "{printed}"
    );
    let calls = machine.calls();
    let config = machine.state().join("k3d.yaml").display().to_string();
    let create = format!(
        "k3d cluster create kueue-lab --config {config} --kubeconfig-update-default=false --kubeconfig-switch-context=false --wait --timeout 300s"
    );
    assert!(calls.contains(&create), "{calls:?}");
    assert!(printed.contains("Creating node 'k3d-kueue-lab-server-0'"));
    let gone = machine.run(&["down", "--cluster", "k3d"]).await;
    assert_eq!(
        String::from_utf8_lossy(&gone.stdout),
        "deleted the cluster k3d-kueue-lab\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_tools_are_reported_with_install_hints() {
    if has_engine() {
        return;
    }
    let machine = FakeToolsPath::new();
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(
        printed.starts_with("there is no docker or podman on PATH"),
        "{printed}"
    );
    machine.add_program("docker", DAEMON_DOWN);
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(
        printed.starts_with("docker does not run: Cannot connect to the Docker daemon"),
        "{printed}"
    );
    machine.add_program("docker", FAKE_DOCKER);
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(
        printed.starts_with("there is no kind on PATH; get it from https://kind.sigs.k8s.io"),
        "{printed}"
    );
    let printed = machine.rejected(&up("k3d"), 2).await;
    assert!(
        printed.starts_with("there is no k3d on PATH; get it from https://k3d.io"),
        "{printed}"
    );
    machine.add_program("kind", "echo 'kind v0.20.0 go1.20.4 linux/amd64'\n");
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(
        printed.starts_with("kind 0.20.0 is too old, the lab needs 0.27.0 or newer"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_creation_is_cleaned_up() {
    let machine = FakeToolsPath::new();
    machine.add_program("docker", FAKE_DOCKER);
    let failing = |text: &str| {
        let create = format!("cat >&2 <<'END'\n{text}\nEND\nexit 1 ;;\n\"old create\"*)");
        FAKE_KIND.replace(
            "\"create cluster --name kueue-lab \"*)",
            &format!("\"create cluster --name kueue-lab \"*)\n{create}"),
        )
    };
    machine.add_program("kind", &failing(
        "Creating cluster \"kueue-lab\" ...\n ✗ Preparing nodes 📦\nDeleted nodes: [\"kueue-lab-control-plane\"]\nERROR: failed to create cluster: command \"docker run --name kueue-lab-control-plane\" failed with error: exit status 125\nCommand Output: docker: Error response from daemon: driver failed programming external connectivity on endpoint kueue-lab-control-plane: Bind for 127.0.0.1:6443 failed: port is already allocated.",
    ));
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(
        printed.starts_with("kind cannot create the cluster: 127.0.0.1:6443 is already in use"),
        "{printed}"
    );
    assert!(
        machine
            .calls()
            .contains(&"kind delete cluster --name kueue-lab".to_owned())
    );
    let markers = machine.state().join("clusters").read_dir().unwrap().count();
    assert_eq!(markers, 0);

    machine.add_program("kind", &failing(
        "ERROR: failed to create cluster: node(s) already exist for a cluster with the name \"kueue-lab\"",
    ));
    let printed = machine.rejected(&up("kind"), 2).await;
    assert!(
        printed.contains("another process is creating one of this name"),
        "{printed}"
    );
    assert!(!machine.calls().iter().any(|c| c.contains("delete")));

    machine.add_program("kind", &failing(
        "ERROR: failed to create cluster: failed to pull image \"kindest/node:v1.34.0\": no space left on device",
    ));
    let printed = machine.rejected(&up("kind"), 1).await;
    assert!(printed.ends_with("no space left on device"), "{printed}");
}
