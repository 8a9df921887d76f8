//! ServiceAccount: sets the service account, image pull secrets and token volume of pods.

use std::sync::Arc;

use serde_json::{Value, json};

use super::PluginContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::{ValueExt, ValueMutExt};

const MIRROR: &str = "kubernetes.io/config.mirror";
const VOLUME: &str = "kube-api-access-";
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Token lifetime in seconds, as in Kubernetes; the kubelet renews tokens at 80 % of it.
const TOKEN_SECONDS: u32 = 3607;

/// Sets the service account of a new pod.
pub(crate) fn admit(write: &PluginContext<'_>, pod: &mut Value) -> Result<(), ApiError> {
    if pod.annotation(MIRROR).is_some() {
        return validate_mirror_pod(write, pod);
    }
    let name = match pod.text("/spec/serviceAccountName") {
        "" => "default".to_string(),
        name => name.to_string(),
    };
    let account = find(write, &name)?;
    let spec = pod.object_mut("spec");
    spec["serviceAccountName"] = name.as_str().into();
    spec["serviceAccount"] = name.as_str().into();
    let wanted = spec.at("/automountServiceAccountToken").as_bool();
    let wanted = wanted.or(account.at("/automountServiceAccountToken").as_bool());
    if wanted.unwrap_or(true) {
        mount_service_account_token(write, spec);
    }
    let secrets = account.list("/imagePullSecrets");
    if spec.list("/imagePullSecrets").is_empty() && !secrets.is_empty() {
        spec["imagePullSecrets"] = secrets.into();
    }
    Ok(())
}

/// Rejects mirror pods that reference service accounts or secrets; others are not changed.
fn validate_mirror_pod(write: &PluginContext<'_>, pod: &Value) -> Result<(), ApiError> {
    if !pod.text("/spec/serviceAccountName").is_empty() {
        return Err(write.forbidden("a mirror pod may not reference service accounts"));
    }
    let volumes = pod.list("/spec/volumes").iter();
    if volumes.clone().any(|v| v.has("/secret")) {
        return Err(write.forbidden("a mirror pod may not reference secrets"));
    }
    Ok(())
}

/// The service account `name`. A missing `default` account is treated as an empty one, because its
/// controller creates it asynchronously.
fn find(write: &PluginContext<'_>, name: &str) -> Result<Arc<Value>, ApiError> {
    let namespace = write.request.namespace;
    match write.reader.get("", "serviceaccounts", namespace, name) {
        Some(account) => Ok(account),
        None if name == "default" => Ok(Arc::new(Value::Null)),
        None => Err(write.forbidden(format!(
            "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
        ))),
    }
}

/// Mounts the token volume in every container without a mount at that path.
fn mount_service_account_token(write: &PluginContext<'_>, spec: &mut Value) {
    let volumes = spec.list("/volumes").iter();
    let present = volumes
        .map(|v| v.text("/name"))
        .find(|n| n.starts_with(VOLUME))
        .map(str::to_string);
    let is_new = present.is_none();
    let volume = present.unwrap_or_else(|| format!("{VOLUME}{}", write.entropy.suffix(5)));
    let mut used = false;
    for list in ["initContainers", "containers"] {
        for container in spec.items_mut(list) {
            let mut mounts = container.list("/volumeMounts").iter();
            if mounts.any(|m| m.text("/mountPath") == MOUNT) {
                continue;
            }
            container.set_default("volumeMounts", json!([]));
            if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts") {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT}));
                used = true;
            }
        }
    }
    if is_new && used {
        spec.set_default("volumes", json!([]));
        if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
            volumes.push(token_volume(&volume));
        }
    }
}

fn token_volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::Operation;

    fn filled(objects: &Objects, mut pod: Value) -> Result<Value, String> {
        let request = request("", "pods", Operation::Create);
        with(objects, &request, |w| admit(w, &mut pod)).map_err(|e| e.message)?;
        Ok(pod)
    }

    #[test]
    fn a_pod_sees_the_token_of_the_default_account() {
        let pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b",
            "volumeMounts": [{"name": "own", "mountPath": MOUNT}]}]}});
        let pod = filled(&Objects::default(), pod).expect("admitted");
        assert_eq!(pod.text("/spec/serviceAccount"), "default");
        let volume = pod.text("/spec/volumes/0/name");
        assert_eq!(volume.len(), VOLUME.len() + 5);
        assert_eq!(pod.text("/spec/containers/0/volumeMounts/0/name"), volume);
        assert_eq!(pod.list("/spec/containers/1/volumeMounts").len(), 1);
    }

    #[test]
    fn accounts_decide_about_tokens_and_pull_secrets() {
        let account = json!({"metadata": {"name": "robot", "namespace": "n"},
            "automountServiceAccountToken": false, "imagePullSecrets": [{"name": "s"}]});
        let objects = Objects(vec![("", "serviceaccounts", account)]);
        let pod = |extra: Value| {
            let mut pod = json!({"spec": {"serviceAccountName": "robot", "containers": [{}]}});
            for (key, value) in extra.entries("") {
                pod["spec"][key] = value.clone();
            }
            filled(&objects, pod).expect("admitted")
        };
        let quiet = pod(json!({}));
        assert!(!quiet.has("/spec/volumes"));
        assert_eq!(quiet.text("/spec/imagePullSecrets/0/name"), "s");
        assert!(pod(json!({"automountServiceAccountToken": true})).has("/spec/volumes/0"));
    }

    #[test]
    fn a_missing_service_account() {
        let pod = json!({"spec": {"serviceAccountName": "who"}});
        assert_eq!(
            filled(&Objects::default(), pod),
            Err("pods \"x\" is forbidden: error looking up service account n/who: serviceaccount \"who\" not found".into())
        );
    }
}
