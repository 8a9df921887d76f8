//! Contexts with an exec credential plugin: a program on PATH that records each call and prints a
//! prepared credential.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

use crate::external_cluster::{ExternalCluster, create};
use crate::lab_lifecycle::{job, up_args, with_context, work_dir};
use crate::lab_process::{WorkDir, wait_for};

/// Prints `credential-N` at the N-th call; fails without that file.
const EXEC_PLUGIN: &str = r#"#!/bin/sh
cd "$DIR"
echo "$1 $KUBERNETES_EXEC_INFO" >> calls
n=$(wc -l < calls)
if [ ! -e "credential-$((n))" ]; then
  echo "Traceback" >&2
  echo "The SSO session has expired. Run: cloud sso login" >&2
  exit 255
fi
cat "credential-$((n))"
"#;

/// A working directory whose kubeconfig names the plugin.
struct ExecPluginUser {
    dir: WorkDir,
    kubeconfig: String,
}

impl ExecPluginUser {
    fn new(cluster: &ExternalCluster) -> Self {
        let dir = work_dir();
        let folder = dir.path().display().to_string();
        dir.write("bin/cloud", EXEC_PLUGIN);
        let plugin = dir.path().join("bin/cloud");
        std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
        let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
        let mut config: Value = serde_yaml::from_str(&text).unwrap();
        config["users"][0]["user"] = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "cloud", "args": ["get-token"],
            "env": [{"name": "DIR", "value": folder}],
            "installHint": "Install the cloud's tools:\n\n  https://cloud.example.com/tools",
            "interactiveMode": "IfAvailable", "provideClusterInfo": true,
        }});
        dir.write("kubeconfig", &serde_yaml::to_string(&config).unwrap());
        let kubeconfig = dir.path().join("kubeconfig").display().to_string();
        Self { dir, kubeconfig }
    }

    /// Sets the credential that the n-th call prints, with its expiration time.
    fn set_credential(&self, n: usize, token: &str, lasts: SignedDuration) {
        let ends = Timestamp::now().checked_add(lasts).unwrap();
        let credential = json!({
            "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
            "status": {"token": token, "expirationTimestamp": ends.to_string()},
        });
        // Atomic.
        self.dir.write("next", &credential.to_string());
        let (from, to) = ("next".to_owned(), format!("credential-{n}"));
        std::fs::rename(self.file(&from), self.file(&to)).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn plugin_calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.file("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.dir.command(args);
        let path = format!("{}:/usr/bin:/bin", self.file("bin").display());
        command.env("PATH", path);
        command
    }

    /// The error line of a command that exits with code 2.
    async fn rejected(&self, args: &[&str]) -> String {
        let mut command = self.command(args);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} printed {printed}");
        let complaint = printed.lines().find_map(|l| l.strip_prefix("error: "));
        complaint.unwrap_or_else(|| panic!("{printed}")).to_owned()
    }
}

fn accounts(client: &Client) -> Api<ServiceAccount> {
    Api::namespaced(client.clone(), "default")
}

/// A token of the cluster-admin account.
async fn token(client: &Client) -> String {
    let request = json!({"spec": {"audiences": []}, "metadata": {}});
    let request = serde_json::from_value(request).unwrap();
    let given = accounts(client)
        .create_token_request("robot", &PostParams::default(), &request)
        .await
        .unwrap();
    given.status.unwrap().token.unwrap()
}

/// Recreates the account, which invalidates its tokens.
async fn recreate_account(client: &Client) {
    let params = DeleteParams::default();
    accounts(client).delete("robot", &params).await.unwrap();
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"namespace": "default", "name": "robot"},
    });
    create(client, account).await;
}

async fn runs(client: &Client, name: &str) {
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    wait_for(&format!("{name} runs"), || async {
        let job = jobs.get(name).await.ok()?;
        (job.status?.ready == Some(1)).then_some(())
    })
    .await;
}

fn cluster_admin_rules() -> Value {
    json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_run_again_when_its_token_expires_or_is_rejected() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    cluster.kubeconfig_of("robot", cluster_admin_rules()).await;
    let user = ExecPluginUser::new(&cluster);
    let hour = SignedDuration::from_hours(1);
    user.set_credential(1, &token(&client).await, SignedDuration::from_secs(2));
    user.set_credential(2, &token(&client).await, hour);
    let lab = user
        .dir
        .start_command(user.command(&up_args(&user.kubeconfig)));
    let lab = lab.await;
    wait_for("the plugin runs before the token expires", || async {
        (user.plugin_calls().len() == 2).then_some(())
    })
    .await;
    let calls = user.plugin_calls();
    assert!(calls[0].starts_with("get-token {"), "{calls:?}");
    for expected in [
        format!("\"server\":\"https://{}\"", cluster.proxy.address()),
        "\"interactive\":false".to_owned(),
        "\"kind\":\"ExecCredential\"".to_owned(),
    ] {
        assert!(
            calls[0].contains(&expected),
            "{expected} is not in {calls:?}"
        );
    }
    create(&client, job("first", 4, 100_000)).await;
    runs(&client, "first").await;
    recreate_account(&client).await;
    user.set_credential(3, &token(&client).await, hour);
    // Open watches continue; a new connection has to authenticate.
    cluster.proxy.drop_connections();
    cluster.proxy.resume();
    create(&client, job("second", 4, 100_000)).await;
    runs(&client, "second").await;
    assert_eq!(user.plugin_calls().len(), 3, "{:?}", user.plugin_calls());
    let log = lab.log();
    assert!(log.contains("the cluster rejected the credentials; refreshed"));
    assert!(
        !log.contains(&token_of(&user.file("credential-3"))),
        "a token was logged"
    );
    assert_eq!(lab.stop().await, Some(0));
}

fn token_of(file: &Path) -> String {
    let credential: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    credential["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_plugin_is_reported() {
    let cluster = ExternalCluster::start().await;
    let user = ExecPluginUser::new(&cluster);
    let file = user.kubeconfig.as_str();
    let commands: [&[&str]; 5] = [
        &with_context("up", file),
        &with_context("down", file),
        &[
            "controller",
            "--health",
            "127.0.0.1:0",
            "--kubeconfig",
            file,
        ],
        &["uninstall", "--yes", "--kubeconfig", file],
        &["explain", "workload", "w", "--kubeconfig", file],
    ];
    let context = "cannot use context other: its credential plugin \"cloud\"";
    for args in commands {
        assert_eq!(
            user.rejected(args).await,
            format!(
                "{context} failed (exit status: 255): The SSO session has expired. Run: cloud sso login; sign in again and retry"
            )
        );
    }
    assert_eq!(user.plugin_calls().len(), commands.len());
    std::fs::remove_file(user.file("bin/cloud")).unwrap();
    for args in commands {
        assert_eq!(
            user.rejected(args).await,
            format!(
                "{context} cannot be run: no such program; Install the cloud's tools: https://cloud.example.com/tools"
            )
        );
    }
}
