//! The files that the kubelet and the container runtime provide: `/etc`, `/proc`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container as ContainerSpec, Pod};
use kube::ResourceExt;
use kueue_lab_container::filesystem::FileSystem;

/// Writes the files.
pub(super) fn provide(
    files: &FileSystem,
    pod: &Pod,
    spec: &ContainerSpec,
    hostname: &str,
    is_busybox: bool,
    now: Timestamp,
) {
    let namespace = pod.namespace().unwrap_or_default();
    let ip = pod.status.as_ref().and_then(|s| s.pod_ip.as_deref());
    let mut hosts = String::from(
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
    );
    if let Some(ip) = ip {
        hosts.push_str(&format!("{ip}\t{hostname}\n"));
    }
    let aliases = pod
        .spec
        .iter()
        .flat_map(|s| s.host_aliases.iter().flatten());
    for alias in aliases {
        let names = alias
            .hostnames
            .iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>();
        hosts.push_str(&format!("{}\t{}\n", alias.ip, names.join("\t")));
    }
    let resolv = format!(
        "search {namespace}.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
    );
    let release = match is_busybox {
        true => {
            "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME=\"Alpine Linux v3.20\"\n"
        }
        false => {
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"
        }
    };
    let command = spec
        .command
        .iter()
        .flatten()
        .chain(spec.args.iter().flatten());
    let command: String = command.map(|word| format!("{word}\0")).collect();
    for (path, text) in [
        ("/etc/hosts", hosts),
        ("/etc/hostname", format!("{hostname}\n")),
        ("/etc/resolv.conf", resolv),
        ("/etc/os-release", release.into()),
        ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n".into()),
        ("/etc/group", "root:x:0:\nnogroup:x:65534:\n".into()),
        ("/proc/version", "Linux version 6.8.0-45-generic\n".into()),
        ("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree:        12288000 kB\nMemAvailable:   15360000 kB\n".into()),
        ("/proc/loadavg", "0.00 0.00 0.00 1/1 7\n".into()),
        ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: simulated\n".into()),
        ("/proc/1/cmdline", command),
        ("/dev/termination-log", String::new()),
    ] {
        files.provide(path, text, 0o644, now);
    }
}
