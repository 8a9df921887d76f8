//! Which strings are no names: numbers, times, constants of APIs, and names that every cluster has.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

/// Names that all clusters have, and lower-case constants of APIs.
const PUBLIC_NAMES: [&str; 54] = [
    "default",
    "main",
    "true",
    "false",
    "kube",
    "system",
    "public",
    "node",
    "lease",
    "kueue",
    "cluster",
    "client",
    "in",
    "scheduler",
    "critical",
    "cpu",
    "memory",
    "pods",
    "ephemeral",
    "storage",
    "gpu",
    "amd64",
    "arm64",
    "linux",
    "windows",
    "soft",
    "hard",
    "head",
    "worker",
    "workers",
    "launcher",
    "driver",
    "executor",
    "leader",
    "master",
    "ppt",
    "ps",
    "chief",
    "evaluator",
    "submitter",
    "deployment",
    "replicaset",
    "statefulset",
    "pod",
    "manager",
    "controller",
    "config",
    "job",
    "ray",
    "lab",
    "presets",
    "yaml",
    "v1",
    "localhost",
];

/// A number, quantity or duration.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+|[numkMGTPE]i?|h|s|ms|us|ns|%)?$|^(\d+(\.\d+)?(h|m|s|ms))+$").ok()
});
static UID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$").ok()
});
/// A constant such as `LowerPriority`.
static CONSTANT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[A-Z][A-Za-z0-9]*$").ok());

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a part of a name stays: a number, or part of names that all clusters have.
pub(super) fn is_common(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_digit()) || PUBLIC_NAMES.contains(&part)
}

/// Whether a string is no name wherever it is.
pub(super) fn is_no_name(text: &str) -> bool {
    text.is_empty()
        || matches(&NUMBER, text)
        || matches(&UID, text)
        || text.parse::<Timestamp>().is_ok()
}

/// Whether a string has the form of a constant of an API.
pub(super) fn is_constant(text: &str) -> bool {
    matches(&CONSTANT, text)
}

/// Whether a key of a label, annotation or taint is a public one: of Kubernetes, Kueue or a vendor of
/// devices.
pub(super) fn is_public_key(key: &str) -> bool {
    const NAMES: [&str; 6] = [
        "job-name",
        "controller-uid",
        "pod-template-hash",
        "controller-revision-hash",
        "control-plane",
        "app",
    ];
    match key.split_once('/') {
        Some((domain, _)) => is_public_domain(domain),
        None => NAMES.contains(&key),
    }
}

/// Whether a string is a name of a public domain, such as a scheduling gate of Kueue or the name of a
/// controller: `kueue.x-k8s.io/admission`.
pub(super) fn has_public_domain(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(domain, _)| is_public_domain(domain))
}

/// Whether a domain is that of Kubernetes, Kueue, a job operator or a vendor of devices, or below it.
pub(super) fn is_public_domain(domain: &str) -> bool {
    const DOMAINS: [&str; 13] = [
        "kubernetes.io",
        "k8s.io",
        "x-k8s.io",
        "nvidia.com",
        "amd.com",
        "intel.com",
        "ray.io",
        "kubeflow.org",
        "codeflare.dev",
        "skypilot.co",
        "kueue-lab.dev",
        "gke.io",
        "eks.amazonaws.com",
    ];
    DOMAINS.iter().any(|public| {
        domain
            .strip_suffix(public)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
