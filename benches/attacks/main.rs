//! Attacks on a lab by clients on loopback: the peak of the resident memory of the lab during each of them, and the
//! latency of two other clients, a service account and the administrator. The lab, the attacker and the other
//! clients are processes of their own; the attacker has a lower priority.
//!
//! `cargo bench --bench attacks` runs all attacks, `cargo bench --bench attacks -- A3 C9` those whose name contains
//! one of the words. The names begin with the number of the probe.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that fails reports its position"
)]

mod attacks;
mod bystander;
mod connections;
mod frames;
#[path = "../../tests/existing_cluster/lab_process.rs"]
#[allow(dead_code, reason = "shared with the tests of the binary")]
mod lab_process;
mod objects;
#[path = "../../tests/durability/requests.rs"]
#[allow(dead_code, reason = "shared with tests/durability")]
mod requests;
mod target;

#[path = "../../tests/attacks/connection.rs"]
#[allow(dead_code, reason = "shared with tests/attacks")]
mod connection;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attacks::Attack;
use bystander::{Latencies, measure};
use kube::Client;
use lab_process::{RunningLab, WorkDir};
use requests::{client, create};
use serde_json::{Value, json};
use target::Target;

/// The first argument of the process of an attacker; its name, the address and the token follow.
const ATTACKER: &str = "--attacker";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The token of a new service account with rules.
async fn account_token(client: &Client, name: &str, rules: Value) -> String {
    create(client, ACCOUNTS, &json!({"metadata": {"name": name}})).await;
    let role = json!({"metadata": {"name": name}, "rules": rules});
    create(client, &format!("{RBAC}/clusterroles"), &role).await;
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    });
    create(client, &format!("{RBAC}/clusterrolebindings"), &binding).await;
    let token = create(client, &format!("{ACCOUNTS}/{name}/token"), &json!({})).await;
    token["status"]["token"].as_str().unwrap().to_owned()
}

/// A line of `/proc/PID/status`, in MB.
fn memory(lab: &RunningLab, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", lab.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let digits = line.and_then(|line| line.split_whitespace().nth(1));
    digits.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Runs the process of an attacker to its end. What it printed, or its exit code.
async fn run_attacker(attack: &Attack, target: &Target) -> String {
    let mut command = Command::new("nice");
    command
        .args(["-n", "10"])
        .arg(std::env::current_exe().unwrap())
        .args([ATTACKER, attack.name])
        .arg(target.address.to_string())
        .arg(&target.token)
        .stderr(Stdio::inherit());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    match output.status.success() {
        true => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        false => format!("the attacker ended with {}", output.status),
    }
}

/// Runs an attack against a new lab and prints the results.
async fn run(attack: &Attack) {
    let dir = WorkDir::new();
    let mut args = vec!["up", "--headless", "--preset", "none"];
    args.extend(attack.lab_arguments);
    let lab = dir.start(&args).await;
    let administrator = client(&lab).await;
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let target = Target {
        address: lab_address(&lab),
        token: account_token(&administrator, "attacker", all).await,
    };
    let lists = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]);
    let token = account_token(&administrator, "user", lists).await;
    let before = memory(&lab, "VmRSS");
    let stop = Arc::new(AtomicBool::new(false));
    let clients = [Some(token), None].map(|token| {
        let path = lab.kubeconfig_path().to_owned();
        tokio::spawn(measure(path, token, stop.clone()))
    });
    let printed = run_attacker(attack, &target).await;
    stop.store(true, Ordering::Relaxed);
    let mut measured = Vec::<Latencies>::new();
    for client in clients {
        measured.push(client.await.unwrap());
    }
    let peak = memory(&lab, "VmHWM");
    println!(
        "{:58} {before:>5} MB {peak:>5} MB {} {} {printed}",
        attack.name, measured[0], measured[1]
    );
    lab.kill();
}

/// The address in the kubeconfig of a lab.
fn lab_address(lab: &RunningLab) -> std::net::SocketAddr {
    let kubeconfig = kube::config::Kubeconfig::read_from(lab.kubeconfig_path()).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
    let server = cluster.server.as_deref().unwrap();
    server.trim_start_matches("https://").parse().unwrap()
}

#[tokio::main]
async fn main() {
    kueue_lab_http::raise_descriptor_limit();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, name, address, token] = &arguments[..]
        && first == ATTACKER
    {
        let target = Target {
            address: address.parse().unwrap(),
            token: token.clone(),
        };
        let attack = attacks::all().into_iter().find(|a| a.name == name);
        return (attack.unwrap().run)(target).await;
    }
    // Options are those of the harness, such as `--bench`.
    let words: Vec<String> = arguments;
    let words: Vec<&String> = words.iter().filter(|w| !w.starts_with('-')).collect();
    println!(
        "{:58} {:>8} {:>8} {} {}",
        "attack",
        "before",
        "peak",
        Latencies::header("user"),
        Latencies::header("administrator"),
    );
    for attack in attacks::all() {
        if words.is_empty() || words.iter().any(|word| attack.name.contains(*word)) {
            run(&attack).await;
        }
    }
}
