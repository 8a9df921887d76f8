//! Commands and servers in simulated containers.

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_kubelet::Kubelet;
use kueue_lab_streaming::remote_command::{
    CommandError, ContainerStreams, RemoteCommand, StreamOptions,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::cluster_fixture::*;

const AGNHOST: &str = "registry.k8s.io/e2e-test-images/agnhost:2.59";

/// The outcome, output and error output of a command with this input.
async fn finish(
    command: RemoteCommand,
    input: &[&str],
) -> (Result<(), CommandError>, String, String) {
    let (stdin_sender, stdin) = mpsc::channel(16);
    for text in input {
        stdin_sender
            .send(Bytes::from((*text).to_owned()))
            .await
            .unwrap();
    }
    drop(stdin_sender);
    let (stdout, stdout_receiver) = mpsc::channel(16);
    let (stderr, stderr_receiver) = mpsc::channel(16);
    let process = command(ContainerStreams {
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr: Some(stderr),
        resize: mpsc::channel(1).1,
    });
    let collect = async |mut receiver: mpsc::Receiver<Bytes>| {
        let mut text = String::new();
        while let Some(data) = receiver.recv().await {
            text.push_str(std::str::from_utf8(&data).unwrap());
        }
        text
    };
    tokio::join!(process, collect(stdout_receiver), collect(stderr_receiver))
}

impl TestCluster {
    fn kubelet(&self) -> Kubelet {
        self.machines.kubelet().unwrap()
    }

    /// A running pod with these containers.
    async fn running_pod(&self, name: &str, spec: Value) -> Pod {
        let pod = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
        self.create(&serde_json::from_value(pod).unwrap()).await;
        self.wait_for_phase(name, "Running").await
    }

    async fn command(&self, pod: &Pod, container: &str, words: &[&str]) -> RemoteCommand {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let uid = pod.uid().unwrap();
        let (kubelet, key) = (self.kubelet(), ObjectKey::of(pod));
        let command = kubelet.exec(&key, &uid, container, words, StreamOptions::default());
        command.await.unwrap()
    }

    /// The output of a script, which succeeds.
    async fn sh(&self, pod: &Pod, container: &str, script: &str) -> String {
        let command = self.command(pod, container, &["sh", "-c", script]).await;
        let (outcome, stdout, stderr) = finish(command, &[]).await;
        assert_eq!((outcome, stderr.as_str()), (Ok(()), ""), "{script}");
        stdout
    }

    async fn post(&self, path: &str, object: Value) {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        self.client.request::<Value>(request).await.unwrap();
    }
}

#[test]
fn commands_see_the_environment_and_volumes_of_their_pod() {
    with_cluster(POOLS, |lab| async move {
        let core = "/api/v1/namespaces/test";
        let map = json!({"metadata": {"name": "m"}, "data": {"k": "v", "other": "w"}});
        lab.post(&format!("{core}/configmaps"), map).await;
        let secret = json!({"metadata": {"name": "s"}, "stringData": {"p": "secret"}});
        lab.post(&format!("{core}/secrets"), secret).await;
        let mounts = json!([
            {"name": "m", "mountPath": "/m"}, {"name": "d", "mountPath": "/d"},
            {"name": "labels", "mountPath": "/labels"},
        ]);
        let spec = json!({
            "containers": [
                {"name": "a", "image": "ubuntu", "command": ["sleep", "infinity"], "workingDir": "/work",
                 "resources": {"limits": {"nvidia.com/gpu": 2}},
                 "env": [
                    {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
                    {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "p"}}},
                    {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "BOTH", "value": "$(KEY)-$(ME)"},
                 ], "volumeMounts": mounts},
                {"name": "b", "image": "busybox", "command": ["sleep", "infinity"], "volumeMounts": mounts},
            ],
            "volumes": [
                {"name": "m", "configMap": {"name": "m", "items": [{"key": "k", "path": "x/key"}]}},
                {"name": "d", "emptyDir": {}},
                {"name": "labels", "downwardAPI": {"items": [
                    {"path": "all", "fieldRef": {"fieldPath": "metadata.labels"}},
                ]}},
            ],
        });
        let pod = lab.running_pod("p", spec).await;
        let ip = pod.status.as_ref().unwrap().pod_ip.clone().unwrap();
        for (script, expected) in [
            (
                "echo $BOTH $PASSWORD $KUBERNETES_SERVICE_HOST",
                "v-p secret 10.96.0.1\n",
            ),
            ("pwd; hostname; hostname -i", &format!("/work\np\n{ip}\n")),
            (
                "find /m -type f; cat /m/x/key /labels/all",
                "/m/x/key\nvapp=\"p\"",
            ),
            (
                "ls /var/run/secrets/kubernetes.io/serviceaccount",
                "ca.crt\nnamespace\ntoken\n",
            ),
            (
                "cat /var/run/secrets/kubernetes.io/serviceaccount/namespace",
                "test",
            ),
            ("nvidia-smi -L | wc -l; nproc", "2\n4\n"),
        ] {
            let actual = lab.sh(&pod, "a", script).await;
            // The certificate is published by a served API server only.
            let actual = actual.replace("namespace\ntoken\n", "ca.crt\nnamespace\ntoken\n");
            assert_eq!(
                actual.replace("ca.crt\nca.crt", "ca.crt"),
                expected,
                "{script}"
            );
        }
        lab.sh(&pod, "a", "echo shared > /d/f; echo own > /f").await;
        assert_eq!(
            lab.sh(&pod, "b", "cat /d/f; ls /f 2>/dev/null || echo none")
                .await,
            "shared\nnone\n"
        );
        assert_eq!(lab.sh(&pod, "a", "cat /f").await, "own\n");
        let change = json!({"data": {"k": "changed"}});
        let patch = http::Request::patch(format!("{core}/configmaps/m"))
            .header("content-type", "application/merge-patch+json")
            .body(change.to_string().into_bytes())
            .unwrap();
        lab.client.request::<Value>(patch).await.unwrap();
        assert_eq!(lab.sh(&pod, "b", "cat /m/x/key").await, "changed");
        let command = lab.command(&pod, "b", &["sh", "-c", "echo x > /m/y"]).await;
        let (outcome, _, stderr) = finish(command, &[]).await;
        assert_eq!(outcome, Err(CommandError::ExitCode(2)));
        assert_eq!(stderr, "sh: cannot create /m/y: Read-only file system\n");
    });
}

#[test]
fn commands_end_with_their_container() {
    with_cluster(POOLS, |lab| async move {
        let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "infinity"]});
        let pod = lab
            .running_pod("p", json!({"containers": [container]}))
            .await;
        let command = lab.command(&pod, "c", &["sleep", "infinity"]).await;
        let delete = async {
            let params = DeleteParams::default().grace_period(5);
            lab.pods.delete("p", &params).await.unwrap();
        };
        let ((outcome, ..), ()) = tokio::join!(finish(command, &[]), delete);
        assert_eq!(outcome, Err(CommandError::ExitCode(137)));
        lab.wait_for_deletion("p").await;
        let words = vec!["ls".to_owned()];
        let uid = pod.uid().unwrap();
        let (kubelet, key) = (lab.kubelet(), ObjectKey::of(&pod));
        let gone = kubelet.exec(&key, &uid, "c", words, StreamOptions::default());
        assert_eq!(
            gone.await.err().unwrap().message,
            "container not found (\"c\")"
        );
        let command = lab
            .running_pod(
                "q",
                json!({"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]}),
            )
            .await;
        let command = lab.command(&command, "c", &["sh"]).await;
        let (outcome, ..) = finish(command, &[]).await;
        let Err(CommandError::Runtime(message)) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(
            message.ends_with("exec: \"sh\": executable file not found in $PATH: unknown"),
            "{message}"
        );
    });
}

#[test]
fn net_exec_is_reached_by_name_and_exits_with_a_code() {
    with_cluster(POOLS, |lab| async move {
        let server = json!({
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": AGNHOST, "args": ["netexec"]}],
        });
        let server = lab.running_pod("server", server).await;
        let service = json!({
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]},
        });
        lab.post("/api/v1/namespaces/test/services", service).await;
        let client = json!({"containers": [{"name": "c", "image": AGNHOST, "args": ["pause"]}]});
        let client = lab.running_pod("client", client).await;
        let ip = server.status.as_ref().unwrap().pod_ip.clone().unwrap();
        let wait = "until curl -sf http://web/healthz > /dev/null; do sleep 1; done";
        lab.sh(&client, "c", wait).await;
        for (script, expected) in [
            (format!("curl -s http://{ip}:8080/hostname"), "server"),
            (
                "curl -s web.test.svc.cluster.local/echo?msg=hi".into(),
                "hi",
            ),
            (
                "curl -s 'http://web.test/shell?cmd=echo%20a;exit%202'".into(),
                "{\"error\":\"exit status 2\",\"output\":\"a\\n\"}",
            ),
            (format!("curl -s http://{ip}:81; echo $?"), "7\n"),
            ("curl -s http://unknown; echo $?".into(), "6\n"),
            ("curl -s http://10.99.99.99; echo $?".into(), "7\n"),
            ("curl -s localhost:8080; echo $?".into(), "7\n"),
        ] {
            assert_eq!(lab.sh(&client, "c", &script).await, expected, "{script}");
        }
        // As the end-to-end tests of Kueue terminate pods.
        let exit = format!("curl \"http://{ip}:8080/exit?code=7&timeout=2s&wait=2s\"");
        lab.sh(&server, "c", &exit).await;
        let failed = lab.wait_for_phase("server", "Failed").await;
        assert_eq!(exit_code(&failed), 7);
    });
}

#[test]
fn ports_are_forwarded_to_known_servers() {
    with_cluster(POOLS, |lab| async move {
        let spec = json!({"containers": [{"name": "c", "image": "nginx:1.27"}]});
        let pod = lab.running_pod("p", spec).await;
        let uid = pod.uid().unwrap();
        let forwarder = lab
            .kubelet()
            .port_forward(&ObjectKey::of(&pod), &uid)
            .unwrap();
        let mut connection = forwarder.connect(80).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        connection.write_all(request).await.unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
        assert!(response.contains("Welcome to nginx!"), "{response}");
        let refused = forwarder.connect(81).await.err().unwrap();
        assert!(
            refused
                .to_string()
                .contains("dial tcp4 127.0.0.1:81: connect: connection refused"),
            "{refused}"
        );
    });
}

#[test]
fn an_attached_shell_is_the_main_process() {
    with_cluster(POOLS, |lab| async move {
        let spec = json!({
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "stdin": true, "command": ["sh"]}],
        });
        let pod = lab.running_pod("p", spec).await;
        let options = StreamOptions {
            stdin: true,
            stdout: true,
            ..StreamOptions::default()
        };
        let (kubelet, uid) = (lab.kubelet(), pod.uid().unwrap());
        let command = kubelet
            .attach(&ObjectKey::of(&pod), &uid, "c", options)
            .await
            .unwrap();
        let (outcome, stdout, _) = finish(command, &["echo $HOSTNAME\n", "exit 4\n"]).await;
        assert_eq!((outcome, stdout.as_str()), (Ok(()), "p\n"));
        assert_eq!(exit_code(&lab.wait_for_phase("p", "Failed").await), 4);
    });
}

#[test]
fn an_ephemeral_container_is_a_shell_beside_the_others() {
    with_cluster(POOLS, |lab| async move {
        let spec = json!({
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}],
        });
        let pod = lab.running_pod("p", spec).await;
        let debugger = json!({"spec": {"ephemeralContainers": [
            {"name": "debugger", "image": "busybox", "stdin": true, "tty": true},
        ]}});
        let path = "/api/v1/namespaces/test/pods/p/ephemeralcontainers";
        let request = http::Request::patch(path)
            .header("content-type", "application/strategic-merge-patch+json")
            .body(debugger.to_string().into_bytes())
            .unwrap();
        lab.client.request::<Value>(request).await.unwrap();
        let state = |pod: &Pod| {
            let status = pod.status.as_ref()?;
            let statuses = status.ephemeral_container_statuses.as_ref()?;
            statuses.first()?.state.clone()
        };
        lab.wait_for_pod("p", |pod| state(pod).is_some_and(|s| s.running.is_some()))
            .await;
        let options = StreamOptions {
            stdin: true,
            stdout: true,
            ..StreamOptions::default()
        };
        let (kubelet, key, uid) = (lab.kubelet(), ObjectKey::of(&pod), pod.uid().unwrap());
        let command = kubelet.attach(&key, &uid, "debugger", options).await;
        let input = ["wget -qO- http://localhost; hostname\n", "exit 3\n"];
        let (_, stdout, _) = finish(command.unwrap(), &input).await;
        assert_eq!(stdout, "p\n");
        let ended = lab
            .wait_for_pod("p", |pod| {
                state(pod).is_some_and(|s| s.terminated.is_some())
            })
            .await;
        assert_eq!(state(&ended).unwrap().terminated.unwrap().exit_code, 3);
        assert_eq!(phase_of(&ended), "Running");
    });
}
