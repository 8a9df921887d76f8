//! The checks of the level `baseline`.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::super::evaluator::PodFields;
use super::check::{Check, Violation};
use super::containers::{BadSetters, named_containers, pluralize, quoted};
use super::seccomp;

/// The checks, by id.
pub(in super::super) const BASELINE: &[Check] = &[
    Check::new("appArmorProfile", &[(0, app_armor_profile)]),
    Check::new("capabilities_baseline", &[(0, capabilities)]),
    Check::new("hostNamespaces", &[(0, host_namespaces)]),
    Check::new("hostPathVolumes", &[(0, host_path_volumes)]),
    Check::new("hostPorts", &[(0, host_ports)]),
    Check::new("hostProbesAndHostLifecycle", &[(34, probe_hosts)]),
    Check::new("privileged", &[(0, privileged)]),
    Check::new(
        "procMount",
        &[
            (0, proc_mount),
            (35, |pod| {
                if pod.is_in_user_namespace() {
                    None
                } else {
                    proc_mount(pod)
                }
            }),
        ],
    ),
    Check::new(
        "seLinuxOptions",
        &[
            (0, |pod| se_linux_options(pod, 4)),
            (31, |pod| se_linux_options(pod, 5)),
        ],
    ),
    Check::new(
        "seccompProfile_baseline",
        &[(0, seccomp::annotations), (19, seccomp::baseline)],
    ),
    Check::new(
        "sysctls",
        &[
            (0, |pod| sysctls(pod, 5)),
            (27, |pod| sysctls(pod, 6)),
            (29, |pod| sysctls(pod, 10)),
            (32, |pod| sysctls(pod, 12)),
        ],
    ),
    Check::new("windowsHostProcess", &[(0, windows_host_process)]),
];

/// The capabilities that can be added.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// The allowed types, in the order of the versions that allowed them.
const SE_LINUX_TYPES: [&str; 5] = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];
/// The allowed sysctls, in the order of the versions that allowed them.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

fn app_armor_profile(pod: PodFields<'_>) -> Option<Violation> {
    let mut bad = BadSetters::of(pod, "/appArmorProfile", |profile| {
        let type_ = profile.text("/type");
        (!["RuntimeDefault", "Localhost"].contains(&type_)).then_some(type_)
    });
    let is_allowed =
        |value: &str| matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
    let mut annotations: Vec<String> = pod
        .metadata
        .entries("/annotations")
        .filter_map(|(key, value)| {
            let value = value.as_str().unwrap_or_default();
            let is_bad = key.starts_with(APP_ARMOR_ANNOTATION) && !is_allowed(value);
            is_bad.then(|| format!("{key}={value:?}"))
        })
        .collect();
    if !annotations.is_empty() {
        bad.push(pluralize("annotation", "annotations", annotations.len()));
    }
    if bad.is_empty() {
        return None;
    }
    annotations.sort();
    let mut values: Vec<String> = bad.values.iter().map(|v| (*v).to_owned()).collect();
    values.append(&mut annotations);
    Violation::new(
        pluralize(
            "forbidden AppArmor profile",
            "forbidden AppArmor profiles",
            values.len(),
        ),
        format!(
            "{} must not set AppArmor profile type to {}",
            bad.joined(),
            quoted(&values)
        ),
    )
}

fn capabilities(pod: PodFields<'_>) -> Option<Violation> {
    let mut forbidden = BTreeSet::new();
    let names = pod.names_of(|container| {
        let added = container.list("/securityContext/capabilities/add").iter();
        let added = added.filter_map(Value::as_str);
        let before = added.filter(|name| !CAPABILITIES.contains(name));
        let bad: Vec<&str> = before.collect();
        forbidden.extend(bad.iter().copied());
        !bad.is_empty()
    });
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not include {} in securityContext.capabilities.add",
        named_containers(&names),
        quoted(&forbidden)
    );
    Violation::new("non-default capabilities", detail)
}

fn host_namespaces(pod: PodFields<'_>) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let set = fields.filter(|field| pod.spec.get(*field).and_then(Value::as_bool) == Some(true));
    let set: Vec<String> = set.map(|field| format!("{field}=true")).collect();
    if set.is_empty() {
        return None;
    }
    Violation::new("host namespaces", set.join(", "))
}

fn host_path_volumes(pod: PodFields<'_>) -> Option<Violation> {
    let volumes = pod.spec.list("/volumes").iter();
    let volumes = volumes.filter(|volume| volume.has("/hostPath"));
    let names: Vec<&str> = volumes.map(|volume| volume.text("/name")).collect();
    if names.is_empty() {
        return None;
    }
    let volumes = pluralize("volume", "volumes", names.len());
    Violation::new("hostPath volumes", format!("{volumes} {}", quoted(&names)))
}

fn host_ports(pod: PodFields<'_>) -> Option<Violation> {
    let mut forbidden = BTreeSet::new();
    let names = pod.names_of(|container| {
        let ports = container.list("/ports").iter();
        let bad: Vec<String> = ports
            .map(|port| port.int("/hostPort"))
            .filter(|port| *port != 0)
            .map(|port| port.to_string())
            .collect();
        let is_bad = !bad.is_empty();
        forbidden.extend(bad);
        is_bad
    });
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {}",
        named_containers(&names),
        pluralize("uses", "use", names.len()),
        pluralize("hostPort", "hostPorts", forbidden.len()),
        Vec::from_iter(forbidden).join(", ")
    );
    Violation::new("hostPort", detail)
}

fn probe_hosts(pod: PodFields<'_>) -> Option<Violation> {
    const HANDLERS: [&str; 5] = [
        "/livenessProbe",
        "/readinessProbe",
        "/startupProbe",
        "/lifecycle/postStart",
        "/lifecycle/preStop",
    ];
    let mut forbidden = BTreeSet::new();
    let mut names = BTreeSet::new();
    for container in pod.containers() {
        for handler in HANDLERS.map(|handler| container.at(handler)) {
            let hosts = [
                handler.text("/httpGet/host"),
                handler.text("/tcpSocket/host"),
            ];
            for host in hosts.into_iter().filter(|host| !host.is_empty()) {
                forbidden.insert(host);
                names.insert(container.text("/name"));
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let names = Vec::from_iter(names);
    let detail = format!(
        "{} {} {} {}",
        named_containers(&names),
        pluralize("uses", "use", names.len()),
        pluralize(
            "probe or lifecycle host",
            "probe or lifecycle hosts",
            forbidden.len()
        ),
        quoted(&forbidden)
    );
    Violation::new("probe or lifecycle host", detail)
}

fn privileged(pod: PodFields<'_>) -> Option<Violation> {
    let names = pod.names_of(|container| container.flag("/securityContext/privileged"));
    if names.is_empty() {
        return None;
    }
    let containers = named_containers(&names);
    let detail = format!("{containers} must not set securityContext.privileged=true");
    Violation::new("privileged", detail)
}

/// The masks of `/proc` are the default.
pub(super) fn proc_mount(pod: PodFields<'_>) -> Option<Violation> {
    let mut forbidden = BTreeSet::new();
    let names = pod.names_of(|container| {
        let mount = container.at("/securityContext/procMount").as_str();
        let bad = mount.filter(|mount| *mount != "Default");
        forbidden.extend(bad);
        bad.is_some()
    });
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set securityContext.procMount to {}",
        named_containers(&names),
        quoted(&forbidden)
    );
    Violation::new("procMount", detail)
}

fn se_linux_options(pod: PodFields<'_>, types: usize) -> Option<Violation> {
    let (mut bad_types, mut sets_user, mut sets_role) = (BTreeSet::new(), false, false);
    let bad = BadSetters::of(pod, "/seLinuxOptions", |options| {
        let type_ = options.text("/type");
        let is_bad_type = !SE_LINUX_TYPES[..types].contains(&type_);
        let user = !options.text("/user").is_empty();
        let role = !options.text("/role").is_empty();
        if is_bad_type {
            bad_types.insert(type_);
        }
        sets_user |= user;
        sets_role |= role;
        (is_bad_type || user || role).then_some(type_)
    });
    if bad.is_empty() {
        return None;
    }
    let mut data = Vec::new();
    if !bad_types.is_empty() {
        let types = pluralize("type", "types", bad_types.len());
        data.push(format!("{types} {}", quoted(&bad_types)));
    }
    if sets_user {
        data.push("user may not be set".into());
    }
    if sets_role {
        data.push("role may not be set".into());
    }
    let detail = format!(
        "{} set forbidden securityContext.seLinuxOptions: {}",
        bad.joined(),
        data.join("; ")
    );
    Violation::new("seLinuxOptions", detail)
}

fn sysctls(pod: PodFields<'_>, allowed: usize) -> Option<Violation> {
    let set = pod.spec.list("/securityContext/sysctls").iter();
    let names = set.map(|sysctl| sysctl.text("/name"));
    let forbidden: Vec<&str> = names
        .filter(|name| !SYSCTLS[..allowed].contains(name))
        .collect();
    if forbidden.is_empty() {
        return None;
    }
    Violation::new("forbidden sysctls", forbidden.join(", "))
}

fn windows_host_process(pod: PodFields<'_>) -> Option<Violation> {
    let bad = BadSetters::of(pod, "/windowsOptions/hostProcess", |value| {
        (value.as_bool() == Some(true)).then_some("true")
    });
    if bad.is_empty() {
        return None;
    }
    let setters = bad.joined();
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    Violation::new("hostProcess", detail)
}
