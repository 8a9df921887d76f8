//! The complete environment of a container: of its pod, ConfigMaps, Secrets and Services.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ConfigMap, Container as ContainerSpec, EnvVarSource, Pod, Secret, Service,
};
use kube::ResourceExt;
use kube::api::ListParams;

use kueue_lab_controller_runtime::Api;
use kueue_lab_kubelet::{Kubelet, RunningInstance, environment as known_environment, pod_field};

/// The `PATH` of images.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of a container.
pub(super) async fn environment(
    kubelet: &Kubelet,
    instance: &RunningInstance,
) -> BTreeMap<String, String> {
    let (pod, spec) = (&*instance.pod, &instance.spec);
    let client = &kubelet.context().client;
    let namespace = pod.namespace().unwrap_or_default();
    let mut values = BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]);
    let services: Api<Service> = Api::namespaced(client.clone(), &namespace);
    let links = pod.spec.as_ref().and_then(|s| s.enable_service_links) != Some(false);
    if links && let Ok(services) = services.list(&ListParams::default()).await {
        services
            .items
            .iter()
            .for_each(|service| service_variables(service, &mut values));
    }
    for (name, value) in [
        ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
        ("KUBERNETES_SERVICE_PORT_HTTPS", "443"),
        ("KUBERNETES_PORT", "tcp://10.96.0.1:443"),
    ] {
        values.insert(name.into(), value.into());
    }
    for source in spec.env_from.iter().flatten() {
        let prefix = source.prefix.clone().unwrap_or_default();
        let data = match (&source.config_map_ref, &source.secret_ref) {
            (Some(map), _) => config_map(kubelet, &namespace, &map.name).await,
            (_, Some(secret)) => secret_data(kubelet, &namespace, &secret.name).await,
            _ => BTreeMap::new(),
        };
        for (key, value) in data {
            values.insert(format!("{prefix}{key}"), value);
        }
    }
    values.extend(known_environment(spec, pod));
    for variable in spec.env.iter().flatten() {
        let value = match (&variable.value_from, &variable.value) {
            (Some(source), _) => from_source(kubelet, pod, spec, source).await,
            (None, value) => value.clone(),
        };
        if let Some(value) = value {
            let value = expand(&value, &values);
            values.insert(variable.name.clone(), value);
        }
    }
    values
}

fn service_variables(service: &Service, values: &mut BTreeMap<String, String>) {
    let Some(spec) = &service.spec else { return };
    let Some(ip) = spec
        .cluster_ip
        .as_deref()
        .filter(|ip| !matches!(*ip, "" | "None"))
    else {
        return;
    };
    let name = service.name_any().to_uppercase().replace('-', "_");
    let Some(port) = spec.ports.iter().flatten().next() else {
        return;
    };
    let (number, protocol) = (port.port, port.protocol.as_deref().unwrap_or("TCP"));
    values.insert(format!("{name}_SERVICE_HOST"), ip.into());
    values.insert(format!("{name}_SERVICE_PORT"), number.to_string());
    let url = format!("{}://{ip}:{number}", protocol.to_lowercase());
    values.insert(format!("{name}_PORT"), url);
}

async fn from_source(
    kubelet: &Kubelet,
    pod: &Pod,
    spec: &ContainerSpec,
    source: &EnvVarSource,
) -> Option<String> {
    let namespace = pod.namespace().unwrap_or_default();
    if let Some(field) = &source.field_ref {
        return pod_field(pod, &field.field_path);
    }
    if let Some(key) = &source.config_map_key_ref {
        return config_map(kubelet, &namespace, &key.name)
            .await
            .remove(&key.key);
    }
    if let Some(key) = &source.secret_key_ref {
        return secret_data(kubelet, &namespace, &key.name)
            .await
            .remove(&key.key);
    }
    let resource = source.resource_field_ref.as_ref()?;
    let (list, name) = resource.resource.split_once('.')?;
    let resources = spec.resources.as_ref()?;
    let list = match list {
        "limits" => resources.limits.as_ref(),
        _ => resources.requests.as_ref(),
    };
    let quantity: kueue_lab_quantity::Quantity = list?.get(name)?.0.parse().ok()?;
    Some(quantity.value().to_string())
}

/// The entries of a ConfigMap that are text.
async fn config_map(kubelet: &Kubelet, namespace: &str, name: &str) -> BTreeMap<String, String> {
    let client = kubelet.context().client.clone();
    let api: Api<ConfigMap> = Api::namespaced(client, namespace);
    let found = api.get_opt(name).await.ok().flatten();
    found.and_then(|map| map.data).unwrap_or_default()
}

async fn secret_data(kubelet: &Kubelet, namespace: &str, name: &str) -> BTreeMap<String, String> {
    let client = kubelet.context().client.clone();
    let api: Api<Secret> = Api::namespaced(client, namespace);
    let found = api.get_opt(name).await.ok().flatten();
    let data = found.and_then(|secret| secret.data).unwrap_or_default();
    let text = |(key, value): (String, k8s_openapi::ByteString)| {
        (key, String::from_utf8_lossy(&value.0).into_owned())
    };
    data.into_iter().map(text).collect()
}

/// Replaces `$(NAME)` by the variables before it; `$$` is a dollar sign.
fn expand(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference = rest.strip_prefix("$(").and_then(|r| r.split_once(')'));
        if let Some((name, after)) = reference {
            match values.get(name) {
                Some(value) => expanded.push_str(value),
                None => expanded.push_str(&format!("$({name})")),
            }
            rest = after;
        } else {
            expanded.push('$');
            rest = rest.strip_prefix("$$").unwrap_or(&rest[1..]);
        }
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded() {
        let values = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        assert_eq!(expand("$(A)-$(B)-$$(A)-$x$", &values), "1-$(B)-$(A)-$x$");
    }
}
