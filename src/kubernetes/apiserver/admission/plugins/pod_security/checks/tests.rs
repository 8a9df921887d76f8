//! One violation of each check, with the versions it applies to.

use serde_json::{Value, json};

use super::super::evaluator::{PodFields, evaluate};
use super::super::policy::{Level, LevelVersion, Version};
use super::{BASELINE, RESTRICTED};

/// The violations of a level in a version; `None` is the latest.
fn details(level: Level, version: Option<u64>, metadata: &Value, spec: &Value) -> String {
    let version = version.map_or(Version::Latest, Version::Minor);
    evaluate(
        LevelVersion { level, version },
        PodFields { metadata, spec },
    )
    .details()
}

fn baseline(spec: &Value) -> String {
    details(Level::Baseline, None, &Value::Null, spec)
}

fn baseline_of(version: u64, spec: &Value) -> String {
    details(Level::Baseline, Some(version), &Value::Null, spec)
}

/// A pod that is allowed everywhere, with changes to its container's security context and spec.
fn hardened(container: &Value, spec: &Value) -> Value {
    let mut pod = json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        }}],
    });
    json_patch::merge(&mut pod["containers"][0]["securityContext"], container);
    json_patch::merge(&mut pod, spec);
    pod
}

fn restricted(container: &Value, spec: &Value) -> String {
    restricted_of(None, container, spec)
}

fn restricted_of(version: Option<u64>, container: &Value, spec: &Value) -> String {
    let pod = hardened(container, spec);
    details(Level::Restricted, version, &Value::Null, &pod)
}

#[test]
fn checks_are_in_the_order_of_their_ids() {
    assert!(BASELINE.is_sorted_by_key(|check| check.id));
    assert!(RESTRICTED.is_sorted_by_key(|check| check.id));
    for check in RESTRICTED {
        let is_known = |id| BASELINE.iter().any(|baseline| baseline.id == id);
        assert!(check.overrides.is_none_or(is_known), "{}", check.id);
    }
}

#[test]
fn a_hardened_pod_is_allowed_and_an_empty_one_only_by_baseline() {
    let nothing = json!({});
    assert_eq!(restricted(&nothing, &nothing), "");
    let plain = json!({"containers": [{"name": "c"}]});
    assert_eq!(baseline(&plain), "");
    assert_eq!(
        details(Level::Restricted, None, &nothing, &plain),
        "allowPrivilegeEscalation != false (container \"c\" must set securityContext.allowPrivilegeEscalation=false), \
         unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"]), \
         runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true), \
         seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
    );
    // Before 1.8 there was no field to forbid escalation.
    assert_eq!(
        details(Level::Restricted, Some(7), &nothing, &plain),
        "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)"
    );
    assert_eq!(details(Level::Privileged, None, &nothing, &plain), "");
}

#[test]
fn app_armor_profiles() {
    let spec = json!({
        "securityContext": {"appArmorProfile": {"type": "Unconfined"}},
        "initContainers": [{"name": "a", "securityContext": {"appArmorProfile": {"type": "Localhost"}}}],
        "containers": [{"name": "b", "securityContext": {"appArmorProfile": {"type": "Unconfined"}}}],
    });
    assert_eq!(
        baseline(&spec),
        "forbidden AppArmor profile (pod and container \"b\" must not set AppArmor profile type to \"Unconfined\")"
    );
    let prefix = "container.apparmor.security.beta.kubernetes.io";
    let annotations = json!({"annotations": {
        format!("{prefix}/a"): "unconfined", format!("{prefix}/b"): "runtime/default",
    }});
    assert_eq!(
        details(Level::Baseline, None, &annotations, &json!({})),
        format!(
            "forbidden AppArmor profile (annotation must not set AppArmor profile type to \"{prefix}/a=\"unconfined\"\")"
        )
    );
}

#[test]
fn capabilities() {
    let context = |add: Value| json!({"capabilities": {"add": add, "drop": ["ALL"]}});
    let spec = json!({"containers": [
        {"name": "a", "securityContext": context(json!(["SYS_ADMIN", "CHOWN"]))},
        {"name": "b", "securityContext": context(json!(["NET_RAW"]))},
    ]});
    assert_eq!(
        baseline(&spec),
        "non-default capabilities (containers \"a\", \"b\" must not include \"NET_RAW\", \"SYS_ADMIN\" in securityContext.capabilities.add)"
    );
    let chown = context(json!(["CHOWN", "NET_BIND_SERVICE"]));
    let expected = "unrestricted capabilities (container \"c\" must not include \"CHOWN\" in securityContext.capabilities.add)";
    assert_eq!(restricted(&chown, &json!({})), expected);
    // The stricter check replaces the one of baseline, from 1.22 on.
    let raw = context(json!(["NET_RAW"]));
    assert!(restricted(&raw, &json!({})).starts_with("unrestricted capabilities ("));
    assert!(!restricted(&raw, &json!({})).contains("non-default"));
    let old = restricted_of(Some(21), &raw, &json!({}));
    assert!(old.starts_with("non-default capabilities ("), "{old}");
}

#[test]
fn namespaces_volumes_and_ports_of_the_host() {
    let spec = json!({"hostNetwork": true, "hostPID": true, "hostIPC": false, "hostUsers": true});
    assert_eq!(
        baseline(&spec),
        "host namespaces (hostNetwork=true, hostPID=true)"
    );
    let volumes = json!({"volumes": [
        {"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "nfs": {}},
        {"name": "c", "emptyDir": {}}, {"name": "d", "new": {}},
    ]});
    assert_eq!(baseline(&volumes), "hostPath volumes (volume \"a\")");
    assert_eq!(
        restricted(&json!({}), &volumes),
        "restricted volume types (volumes \"a\", \"b\", \"d\" use restricted volume types \"hostPath\", \"nfs\", \"unknown\")"
    );
    let ports = json!({"containers": [
        {"name": "a", "ports": [{"containerPort": 1}, {"hostPort": 0}]},
        {"name": "b", "ports": [{"hostPort": 80}, {"hostPort": 443}]},
    ]});
    assert_eq!(
        baseline(&ports),
        "hostPort (container \"b\" uses hostPorts 443, 80)"
    );
}

#[test]
fn hosts_of_probes_since_1_34() {
    let spec = json!({"containers": [
        {"name": "b", "livenessProbe": {"httpGet": {"host": "10.0.0.1"}}},
        {"name": "a", "lifecycle": {"preStop": {"tcpSocket": {"host": "x"}}}},
        {"name": "c", "readinessProbe": {"httpGet": {"port": 80}}},
    ]});
    assert_eq!(
        baseline(&spec),
        "probe or lifecycle host (containers \"a\", \"b\" use probe or lifecycle hosts \"10.0.0.1\", \"x\")"
    );
    assert_eq!(baseline_of(33, &spec), "");
}

#[test]
fn privileged_containers_and_proc_mounts() {
    let spec =
        json!({"ephemeralContainers": [{"name": "e", "securityContext": {"privileged": true}}]});
    assert_eq!(
        baseline(&spec),
        "privileged (container \"e\" must not set securityContext.privileged=true)"
    );
    let mount = json!({"procMount": "Unmasked"});
    let expected =
        "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")";
    assert_eq!(baseline(&hardened(&mount, &json!({}))), expected);
    // Since 1.35, baseline allows it in a user namespace.
    let user = json!({"hostUsers": false});
    assert_eq!(baseline(&hardened(&mount, &user)), "");
    assert_eq!(baseline_of(34, &hardened(&mount, &user)), expected);
    assert_eq!(restricted(&mount, &user), expected);
}

#[test]
fn se_linux_options() {
    let spec = json!({
        "securityContext": {"seLinuxOptions": {"type": "spc_t"}},
        "containers": [
            {"name": "a", "securityContext": {"seLinuxOptions": {"user": "u", "role": "r"}}},
            {"name": "b", "securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}},
        ],
    });
    assert_eq!(
        baseline(&spec),
        "seLinuxOptions (pod and container \"a\" set forbidden securityContext.seLinuxOptions: type \"spc_t\"; user may not be set; role may not be set)"
    );
    assert_eq!(
        baseline_of(30, &spec),
        "seLinuxOptions (pod and containers \"a\", \"b\" set forbidden securityContext.seLinuxOptions: types \"container_engine_t\", \"spc_t\"; user may not be set; role may not be set)"
    );
}

#[test]
fn seccomp_profiles() {
    let unconfined = json!({"seccompProfile": {"type": "Unconfined"}});
    let expected = "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")";
    assert_eq!(baseline(&hardened(&unconfined, &json!({}))), expected);
    assert_eq!(restricted(&unconfined, &json!({})), expected);
    let own = json!({"seccompProfile": {"type": "Localhost"}});
    let none = json!({"securityContext": {"seccompProfile": null}});
    assert_eq!(restricted(&own, &none), "");
    assert!(restricted(&json!({}), &none).starts_with("seccompProfile (pod or container"));
    let annotations = json!({"annotations": {
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/c": "localhost/x",
    }});
    let spec = hardened(&json!({}), &json!({}));
    assert_eq!(
        details(Level::Baseline, Some(18), &annotations, &spec),
        "seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod=\"unconfined\")"
    );
    assert_eq!(details(Level::Baseline, Some(19), &annotations, &spec), "");
}

#[test]
fn sysctls_by_version() {
    let names = [
        "kernel.msgmax",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_fin_timeout",
    ];
    let sysctls: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let spec = json!({"securityContext": {"sysctls": sysctls}});
    let of = |names: &[&str]| format!("forbidden sysctls ({})", names.join(", "));
    assert_eq!(baseline(&spec), of(&names[..1]));
    assert_eq!(baseline_of(31, &spec), of(&names[..2]));
    assert_eq!(baseline_of(28, &spec), of(&names));
    let reserved =
        json!({"securityContext": {"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]}});
    assert_eq!(baseline_of(27, &reserved), "");
    assert_ne!(baseline_of(26, &reserved), "");
}

#[test]
fn users() {
    let none = json!({});
    let root = json!({"runAsNonRoot": false, "runAsUser": 0});
    assert_eq!(
        restricted(&root, &json!({"securityContext": {"runAsUser": 0}})),
        "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false), \
         runAsUser=0 (pod and container \"c\" must not set runAsUser=0)"
    );
    let of_version = restricted_of(Some(22), &json!({"runAsUser": 0}), &none);
    assert_eq!(of_version, "");
    // A user namespace maps root to another user, since 1.35.
    let user = json!({"hostUsers": false});
    assert_eq!(restricted(&root, &user), "");
    assert_ne!(restricted_of(Some(34), &root, &user), "");
}

#[test]
fn windows() {
    let process = json!({"windowsOptions": {"hostProcess": true}});
    assert_eq!(
        baseline(&hardened(&process, &json!({"securityContext": process}))),
        "hostProcess (pod and container \"c\" must not set securityContext.windowsOptions.hostProcess=true)"
    );
    let pod = json!({"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": true},
        "containers": [{"name": "c"}]});
    assert_eq!(details(Level::Restricted, None, &json!({}), &pod), "");
    let old = details(Level::Restricted, Some(24), &json!({}), &pod);
    assert!(
        old.starts_with("allowPrivilegeEscalation != false ("),
        "{old}"
    );
}
