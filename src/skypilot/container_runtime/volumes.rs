//! The volumes of pods, with their content.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{
    ConfigMap, Container as ContainerSpec, DownwardAPIVolumeFile, KeyToPath, Pod,
    ProjectedVolumeSource, Secret, ServiceAccountTokenProjection, Volume as VolumeSpec,
};
use kube::ResourceExt;
use kueue_lab_container::filesystem::{FileSystem, Volume};
use serde_json::json;

use super::simulated_runtime::SimulatedRuntime;
use kueue_lab_controller_runtime::Api;
use kueue_lab_kubelet::{Kubelet, RunningInstance, pod_field};

/// The age at which a token is renewed: 80 % of its time, as in the kubelet.
const TOKEN_AGE: f64 = 0.8;

/// Paths below the mount point, with content and permissions.
type Files = BTreeMap<String, (Vec<u8>, u32)>;

fn volume_spec<'a>(pod: &'a Pod, name: &str) -> Option<&'a VolumeSpec> {
    let mut volumes = pod.spec.as_ref()?.volumes.iter().flatten();
    volumes.find(|volume| volume.name == name)
}

/// The volume of a pod. Claims are shared by all pods of a namespace.
pub(super) fn mounted_volume(
    runtime: &SimulatedRuntime,
    pod: &Pod,
    name: &str,
    now: Timestamp,
) -> Volume {
    let claim = volume_spec(pod, name).and_then(|v| v.persistent_volume_claim.as_ref());
    match claim {
        Some(claim) => {
            let key = format!("claim/{}", pod.namespace().unwrap_or_default());
            runtime.volume(&key, &claim.claim_name, now)
        }
        None => runtime.volume(pod.metadata.uid.as_deref().unwrap_or_default(), name, now),
    }
}

/// Copies the files of mounts with a `subPath`, which do not change later.
pub(super) fn copy_sub_paths(
    files: &FileSystem,
    runtime: &SimulatedRuntime,
    pod: &Pod,
    spec: &ContainerSpec,
    now: Timestamp,
) {
    for mount in spec.volume_mounts.iter().flatten() {
        let sub_path = mount.sub_path.as_deref().or(mount.sub_path_expr.as_deref());
        if let Some(sub_path) = sub_path.filter(|path| !path.is_empty()) {
            let volume = mounted_volume(runtime, pod, &mount.name, now);
            files.unmount(&mount.mount_path);
            files.provide_copy(&mount.mount_path, &volume, sub_path, now);
        }
    }
}

/// The volumes of the pods of a kubelet.
pub(super) struct Volumes<'a> {
    kubelet: &'a Kubelet,
    runtime: &'a SimulatedRuntime,
}

impl<'a> Volumes<'a> {
    pub(super) fn of(kubelet: &'a Kubelet, runtime: &'a SimulatedRuntime) -> Self {
        Self { kubelet, runtime }
    }

    /// Writes the current content of ConfigMaps, Secrets and projected volumes.
    pub(super) async fn refresh(&self, instance: &RunningInstance) {
        let pod = &instance.pod;
        for mount in instance.spec.volume_mounts.iter().flatten() {
            let Some(spec) = volume_spec(pod, &mount.name) else {
                continue;
            };
            let now = self.kubelet.context().clock.now();
            let volume = mounted_volume(self.runtime, pod, &mount.name, now);
            let Some(files) = self.volume_files(pod, spec, &volume).await else {
                continue;
            };
            let mut tree = volume.lock();
            tree.replace_files(&files, now);
            tree.set_read_only(true);
        }
    }

    /// The files of a volume; `None` if the container writes them.
    async fn volume_files(&self, pod: &Pod, spec: &VolumeSpec, volume: &Volume) -> Option<Files> {
        let namespace = pod.namespace().unwrap_or_default();
        let mut files = Files::new();
        if let Some(source) = &spec.config_map {
            let mode = source.default_mode;
            let data = self.config_map_data(&namespace, &source.name).await;
            add_items(&mut files, data, source.items.as_deref(), mode);
        } else if let Some(source) = &spec.secret {
            let mode = source.default_mode;
            let name = source.secret_name.as_deref().unwrap_or_default();
            let data = self.secret_data(&namespace, name).await;
            add_items(&mut files, data, source.items.as_deref(), mode);
        } else if let Some(source) = &spec.downward_api {
            add_fields(&mut files, pod, source.items.as_deref().unwrap_or_default());
        } else if let Some(source) = &spec.projected {
            self.add_projected(&mut files, pod, source, volume).await;
        } else {
            return None;
        }
        Some(files)
    }

    async fn add_projected(
        &self,
        files: &mut Files,
        pod: &Pod,
        projected: &ProjectedVolumeSource,
        volume: &Volume,
    ) {
        let namespace = pod.namespace().unwrap_or_default();
        let mode = projected.default_mode;
        for source in projected.sources.iter().flatten() {
            if let Some(source) = &source.config_map {
                let data = self.config_map_data(&namespace, &source.name).await;
                add_items(files, data, source.items.as_deref(), mode);
            } else if let Some(source) = &source.secret {
                let data = self.secret_data(&namespace, &source.name).await;
                add_items(files, data, source.items.as_deref(), mode);
            } else if let Some(source) = &source.downward_api {
                add_fields(files, pod, source.items.as_deref().unwrap_or_default());
            } else if let Some(source) = &source.service_account_token {
                let path = format!("/{}", source.path.trim_start_matches('/'));
                let now = self.kubelet.context().clock.now();
                let known = volume.lock().file(&path);
                let is_fresh = |written: &Timestamp| {
                    let life = source.expiration_seconds.unwrap_or(3600) as f64;
                    now.duration_since(*written).as_secs_f64() < life * TOKEN_AGE
                };
                let token = match known.filter(|(_, written)| is_fresh(written)) {
                    Some((token, _)) => Some(token),
                    None => self.service_account_token(pod, source).await,
                };
                if let Some(token) = token {
                    files.insert(path, (token, 0o600));
                }
            }
        }
    }

    async fn service_account_token(
        &self,
        pod: &Pod,
        source: &ServiceAccountTokenProjection,
    ) -> Option<Vec<u8>> {
        let account = pod.spec.as_ref()?.service_account_name.as_deref()?;
        let namespace = pod.namespace()?;
        let audiences: Vec<&String> = source.audience.iter().collect();
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {
                "audiences": audiences,
                "expirationSeconds": source.expiration_seconds,
                "boundObjectRef": {
                    "apiVersion": "v1", "kind": "Pod",
                    "name": pod.name_any(), "uid": pod.uid(),
                },
            },
        });
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(request.to_string().into_bytes())
            .ok()?;
        let client = &self.kubelet.context().client;
        let response: TokenRequest = client.request(request).await.ok()?;
        Some(response.status?.token?.into_bytes())
    }

    async fn config_map_data(&self, namespace: &str, name: &str) -> BTreeMap<String, Vec<u8>> {
        let client = self.kubelet.context().client.clone();
        let api: Api<ConfigMap> = Api::namespaced(client, namespace);
        let Some(map) = api.get_opt(name).await.ok().flatten() else {
            return BTreeMap::new();
        };
        let text = map.data.into_iter().flatten();
        let text = text.map(|(key, value)| (key, value.into_bytes()));
        let binary = map.binary_data.into_iter().flatten();
        text.chain(binary.map(|(key, value)| (key, value.0)))
            .collect()
    }

    async fn secret_data(&self, namespace: &str, name: &str) -> BTreeMap<String, Vec<u8>> {
        let client = self.kubelet.context().client.clone();
        let api: Api<Secret> = Api::namespaced(client, namespace);
        let found = api.get_opt(name).await.ok().flatten();
        let data = found.and_then(|secret| secret.data).into_iter().flatten();
        data.map(|(key, value)| (key, value.0)).collect()
    }
}

/// Adds all entries, or those that `items` select.
fn add_items(
    files: &mut Files,
    mut data: BTreeMap<String, Vec<u8>>,
    items: Option<&[KeyToPath]>,
    mode: Option<i32>,
) {
    let bits = |mode: Option<i32>| {
        mode.and_then(|mode| u32::try_from(mode).ok())
            .unwrap_or(0o644)
    };
    match items {
        Some(items) if !items.is_empty() => {
            for item in items {
                if let Some(value) = data.remove(&item.key) {
                    let path = format!("/{}", item.path.trim_start_matches('/'));
                    files.insert(path, (value, bits(item.mode.or(mode))));
                }
            }
        }
        _ => {
            let all = data.into_iter();
            files.extend(all.map(|(key, value)| (format!("/{key}"), (value, bits(mode)))));
        }
    }
}

fn add_fields(files: &mut Files, pod: &Pod, items: &[DownwardAPIVolumeFile]) {
    let quoted = |entries: &BTreeMap<String, String>| {
        let lines = entries
            .iter()
            .map(|(key, value)| format!("{key}={value:?}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    for item in items {
        let Some(field) = &item.field_ref else {
            continue;
        };
        let value = match field.field_path.as_str() {
            "metadata.labels" => Some(quoted(pod.labels())),
            "metadata.annotations" => Some(quoted(pod.annotations())),
            path => pod_field(pod, path),
        };
        if let Some(value) = value {
            let path = format!("/{}", item.path.trim_start_matches('/'));
            files.insert(path, (value.into_bytes(), 0o644));
        }
    }
}
