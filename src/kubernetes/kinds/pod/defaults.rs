//! Defaulting of pods and pod templates.

use serde_json::{Map, Value, json};

use kueue_lab_json::{ValueExt, ValueMutExt};
use kueue_lab_quantity::Quantity;

/// Sets the defaults of a pod.
pub(crate) fn pod(pod: &mut Value) {
    if let Some(spec) = pod.get_object_mut("spec") {
        pod_spec(spec);
        spec.set_default("enableServiceLinks", true);
        for field in ["containers", "initContainers"] {
            for container in spec.items_mut(field) {
                requests_from_limits(container);
            }
        }
        if spec.flag("/hostNetwork") {
            for field in ["containers", "initContainers"] {
                for container in spec.items_mut(field) {
                    for port in container.items_mut("ports") {
                        let number = port.at("/containerPort").clone();
                        if port.int("/hostPort") == 0 {
                            port.set_or_remove("hostPort", Some(number));
                        }
                    }
                }
            }
        }
    }
    addresses(pod);
}

/// Synchronizes `status.podIP` with the first entry of `status.podIPs`.
fn addresses(pod: &mut Value) {
    let Some(status) = pod.get_object_mut("status") else {
        return;
    };
    let one = status.text("/podIP").to_string();
    let first = status.text("/podIPs/0/ip").to_string();
    if !one.is_empty() && one != first {
        status.set_or_remove("podIPs", Some(json!([{"ip": one}])));
    } else if one.is_empty() && !first.is_empty() {
        status.set_or_remove("podIP", Some(first.into()));
    }
}

/// Sets the defaults of a pod spec.
pub(crate) fn pod_spec(spec: &mut Value) {
    spec.set_default("restartPolicy", "Always");
    spec.set_default("dnsPolicy", "ClusterFirst");
    spec.set_default("terminationGracePeriodSeconds", 30);
    spec.set_default("securityContext", json!({}));
    spec.set_default("schedulerName", "default-scheduler");
    // `serviceAccount` is the deprecated alias of `serviceAccountName`.
    match (
        spec.text("/serviceAccountName"),
        spec.text("/serviceAccount"),
    ) {
        ("", "") => {}
        ("", account) => {
            let account = account.to_string();
            spec.set_or_remove("serviceAccountName", Some(account.into()));
        }
        (account, _) => {
            let account = account.to_string();
            spec.set_or_remove("serviceAccount", Some(account.into()));
        }
    }
    for field in ["containers", "initContainers", "ephemeralContainers"] {
        for c in spec.items_mut(field) {
            container(c);
        }
    }
    for v in spec.items_mut("volumes") {
        volume(v);
    }
    if let Some(overhead) = spec.get_object_mut("overhead") {
        round_to_milli(overhead);
    }
}

/// Sets the defaults of the pod template of a workload.
pub(crate) fn template(holder: &mut Value) {
    if let Some(spec) = holder
        .get_object_mut("template")
        .and_then(|t| t.get_object_mut("spec"))
    {
        pod_spec(spec);
    }
}

fn container(c: &mut Value) {
    c.set_default("terminationMessagePath", "/dev/termination-log");
    c.set_default("terminationMessagePolicy", "File");
    let policy = pull_policy(c.text("/image"));
    c.set_default("imagePullPolicy", policy);
    for port in c.items_mut("ports") {
        port.set_default("protocol", "TCP");
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(p) = c.get_object_mut(field) {
            probe(p);
        }
    }
    if let Some(lifecycle) = c.get_object_mut("lifecycle") {
        for field in ["postStart", "preStop"] {
            if let Some(get) = lifecycle
                .get_object_mut(field)
                .and_then(|h| h.get_object_mut("httpGet"))
            {
                http_get(get);
            }
        }
    }
    for variable in c.items_mut("env") {
        if let Some(reference) = variable
            .get_object_mut("valueFrom")
            .and_then(|from| from.get_object_mut("fieldRef"))
        {
            reference.set_default("apiVersion", "v1");
        }
        if let Some(reference) = variable
            .get_object_mut("valueFrom")
            .and_then(|from| from.get_object_mut("resourceFieldRef"))
        {
            reference.set_default("divisor", "0");
        }
    }
    if let Some(resources) = c.get_object_mut("resources") {
        for list in ["limits", "requests"] {
            if let Some(list) = resources.get_object_mut(list) {
                round_to_milli(list);
            }
        }
    }
    c.set_default("resources", json!({}));
}

/// Default image pull policy: `Always` for the tag `latest` or an image without tag and digest,
/// otherwise `IfNotPresent`.
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, "latest")) => "Always",
        None if !digest => "Always",
        _ => "IfNotPresent",
    }
}

fn probe(p: &mut Value) {
    for (field, default) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if p.int(&format!("/{field}")) == 0 {
            p.set_or_remove(field, Some(default.into()));
        }
    }
    if let Some(get) = p.get_object_mut("httpGet") {
        http_get(get);
    }
    if let Some(grpc) = p.get_object_mut("grpc") {
        grpc.set_default("service", "");
    }
}

fn http_get(get: &mut Value) {
    get.set_default("path", "/");
    get.set_default("scheme", "HTTP");
}

/// Defaults each missing resource request of a container to its limit.
fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.get_object_mut("resources") else {
        return;
    };
    let limits: Map<String, Value> = match resources.get("limits") {
        Some(Value::Object(limits)) if !limits.is_empty() => limits.clone(),
        _ => return,
    };
    let requests = resources.object_mut("requests");
    for (name, limit) in limits {
        requests.set_default(&name, limit);
    }
}

/// Rounds the quantities of a resource list up to the milli scale.
pub(crate) fn round_to_milli(list: &mut Value) {
    let Value::Object(map) = list else { return };
    for amount in map.values_mut() {
        // The canonical form of a quantity finer than milli has the suffix `n` or `u`.
        let fine = amount.as_str().is_some_and(|s| s.ends_with(['n', 'u']));
        if fine && let Some(quantity) = Quantity::of(amount) {
            *amount = Quantity::from_milli(quantity.milli_value())
                .to_string()
                .into();
        }
    }
}

const VOLUME_SOURCES: usize = 1;

fn volume(v: &mut Value) {
    let Value::Object(map) = v else { return };
    if map.keys().filter(|k| *k != "name").count() < VOLUME_SOURCES {
        v.set_or_remove("emptyDir", Some(json!({})));
        return;
    }
    for field in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = v.get_object_mut(field) {
            source.set_default("defaultMode", 0o644);
            downward_items(source);
        }
    }
    if let Some(projected) = v.get_object_mut("projected") {
        for source in projected.items_mut("sources") {
            if let Some(token) = source.get_object_mut("serviceAccountToken") {
                token.set_default("expirationSeconds", 3600);
            }
            if let Some(downward) = source.get_object_mut("downwardAPI") {
                downward_items(downward);
            }
        }
    }
    if let Some(path) = v.get_object_mut("hostPath") {
        path.set_default("type", "");
    }
    if let Some(template) = v
        .get_object_mut("ephemeral")
        .and_then(|e| e.get_object_mut("volumeClaimTemplate"))
        && let Some(spec) = template.get_object_mut("spec")
    {
        spec.set_default("volumeMode", "Filesystem");
    }
    if let Some(iscsi) = v.get_object_mut("iscsi") {
        iscsi.set_default("iscsiInterface", "default");
    }
}

fn downward_items(source: &mut Value) {
    for item in source.items_mut("items") {
        if let Some(reference) = item.get_object_mut("fieldRef") {
            reference.set_default("apiVersion", "v1");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_gets_its_defaults() {
        let mut p = json!({"spec": {
            "containers": [{"name": "c", "image": "nginx:1.25", "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1", "memory": "100u"}, "requests": {"cpu": "500m"}},
                "livenessProbe": {"httpGet": {"port": 80}}}],
            "volumes": [{"name": "e"}, {"name": "s", "secret": {"secretName": "x"}}],
            "serviceAccount": "robot"}});
        pod(&mut p);
        let c = p.at("/spec/containers/0");
        assert_eq!(c.text("/imagePullPolicy"), "IfNotPresent");
        assert_eq!(c.text("/ports/0/protocol"), "TCP");
        assert_eq!(
            *c.at("/resources/requests"),
            json!({"cpu": "500m", "memory": "1m"})
        );
        assert_eq!(
            *c.at("/livenessProbe/httpGet"),
            json!({"path": "/", "port": 80, "scheme": "HTTP"})
        );
        assert_eq!(c.int("/livenessProbe/failureThreshold"), 3);
        assert_eq!(*p.at("/spec/volumes/0/emptyDir"), json!({}));
        assert_eq!(p.int("/spec/volumes/1/secret/defaultMode"), 420);
        assert_eq!(p.text("/spec/serviceAccountName"), "robot");
        assert_eq!(
            (
                p.int("/spec/terminationGracePeriodSeconds"),
                p.flag("/spec/enableServiceLinks")
            ),
            (30, true)
        );
        let once = p.clone();
        pod(&mut p);
        assert_eq!(p, once);
    }

    #[test]
    fn pull_policies() {
        for (image, policy) in [
            ("x", "Always"),
            ("x:latest", "Always"),
            ("x:1", "IfNotPresent"),
            ("host:5000/x", "Always"),
            ("host:5000/x:1", "IfNotPresent"),
            ("x@sha256:00", "IfNotPresent"),
            ("x:latest@sha256:00", "Always"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    #[test]
    fn ports_of_the_host_network() {
        let mut p = json!({"spec": {"hostNetwork": true, "containers": [{"ports": [{"containerPort": 80}]}]}});
        pod(&mut p);
        assert_eq!(p.int("/spec/containers/0/ports/0/hostPort"), 80);
    }
}
