//! `redis-cli` in a container of Redis, whose only clients are Ray clusters.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use kueue_lab_container::{Program, ProgramCall};

use super::ray_storage::{RayStorage, StorageNamespace};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_kubelet::{Kubelet, WeakKubelet};

/// The name of the program.
pub(super) const REDIS_CLI: &str = "redis-cli";
/// The port of Redis.
const PORT: u16 = 6379;

/// `redis-cli` in one container of Redis.
pub(super) struct RedisCli {
    pub(super) kubelet: WeakKubelet,
    pub(super) storage: Arc<RayStorage>,
    /// The pod of the container.
    pub(super) pod: ObjectKey,
    /// When the container started, without data.
    pub(super) started: Timestamp,
}

impl RedisCli {
    async fn keys(&self) -> Vec<String> {
        let Some(kubelet) = self.kubelet.upgrade() else {
            return Vec::new();
        };
        let mut keys = Vec::new();
        for namespace in self.storage.namespaces() {
            if self.has(&kubelet, &namespace).await {
                keys.extend(namespace.keys());
            }
        }
        keys
    }

    /// Whether a Ray cluster wrote its storage namespace to this container.
    async fn has(&self, kubelet: &Kubelet, namespace: &StorageNamespace) -> bool {
        if namespace.written_at < self.started {
            return false;
        }
        let (host, port) = namespace
            .address
            .rsplit_once(':')
            .unwrap_or((&namespace.address, "6379"));
        let Ok(port) = port.parse() else {
            return false;
        };
        let client = ObjectKey::new(&*namespace.client_namespace, &*self.pod.name);
        kubelet.is_address_of(&client, host, port, &self.pod).await
    }
}

#[async_trait]
impl Program for RedisCli {
    fn name(&self) -> &'static str {
        REDIS_CLI
    }

    async fn run(&self, call: ProgramCall<'_>) -> i32 {
        let mut words = call.arguments().iter().map(String::as_str);
        let mut command = None;
        let mut host = "127.0.0.1";
        let mut port = PORT;
        while let Some(word) = words.next() {
            match word {
                "-h" => host = words.next().unwrap_or_default(),
                "-p" => port = words.next().and_then(|p| p.parse().ok()).unwrap_or(0),
                "-a" | "-n" | "-u" | "--user" | "--pass" => drop(words.next()),
                "--raw" | "--no-raw" | "--no-auth-warning" => {}
                word => {
                    command = Some(word);
                    break;
                }
            }
        }
        if !["127.0.0.1", "localhost", "::1"].contains(&host) || port != PORT {
            let text = format!("Could not connect to Redis at {host}:{port}: Connection refused\n");
            call.print_error(&text).await;
            return 1;
        }
        let command = command.unwrap_or_default();
        let text = match command.to_ascii_uppercase().as_str() {
            "PING" => "PONG\n".to_owned(),
            "DBSIZE" => format!("{}\n", self.keys().await.len()),
            "KEYS" if words.next() == Some("*") => self
                .keys()
                .await
                .iter()
                .map(|key| format!("{key}\n"))
                .collect(),
            _ => format!("ERR unknown command '{command}'\n"),
        };
        call.print(&text).await;
        i32::from(text.starts_with("ERR "))
    }
}
