//! The message descriptors of the Kubernetes API, decoded on first use.

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, MessageDescriptor};

use super::ProtobufError;

static PACKED: &[u8] = include_bytes!("descriptors.binpb.gz");

/// The package of the types that are served in every group, such as Status and DeleteOptions.
const META_V1: &str = "k8s.io.apimachinery.pkg.apis.meta.v1";

/// The API groups of packages whose name is neither the group nor its first label.
const GROUPS: [(&str, &str); 3] = [
    ("core", ""),
    ("rbac", "rbac.authorization.k8s.io"),
    ("flowcontrol", "flowcontrol.apiserver.k8s.io"),
];

/// Packages of groups without a dot.
const SHORT_GROUPS: [&str; 4] = ["apps", "autoscaling", "batch", "policy"];

struct Descriptors {
    pool: DescriptorPool,
    /// Packages by apiVersion.
    packages: HashMap<String, String>,
}

static DESCRIPTORS: LazyLock<Result<Descriptors, ProtobufError>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(PACKED)
        .read_to_end(&mut bytes)
        .map_err(|error| ProtobufError::Descriptors(error.to_string()))?;
    let pool = DescriptorPool::decode(bytes.as_slice())
        .map_err(|error| ProtobufError::Descriptors(error.to_string()))?;
    let packages = pool.files().filter_map(|file| {
        let package = file.package_name();
        Some((api_version(package)?, package.to_owned()))
    });
    let packages = packages.collect();
    Ok(Descriptors { pool, packages })
});

/// The apiVersion of the kinds of a package, such as `k8s.io.api.rbac.v1`.
fn api_version(package: &str) -> Option<String> {
    if package == META_V1 {
        return Some("meta.k8s.io/v1".into());
    }
    let (rest, version) = package.rsplit_once('.')?;
    let (_, name) = rest.rsplit_once('.')?;
    if !version.starts_with('v') {
        return None;
    }
    let group = match GROUPS.iter().find(|(package, _)| *package == name) {
        Some((_, "")) => return Some(version.into()),
        Some((_, group)) => (*group).to_owned(),
        None if SHORT_GROUPS.contains(&name) => name.to_owned(),
        None => format!("{name}.k8s.io"),
    };
    Some(format!("{group}/{version}"))
}

/// The message of a kind.
///
/// # Errors
/// [`ProtobufError::UnknownKind`] if it has none, as custom resources.
pub(super) fn message_of(
    api_version: &str,
    kind: &str,
) -> Result<MessageDescriptor, ProtobufError> {
    let descriptors = DESCRIPTORS.as_ref().map_err(Clone::clone)?;
    let find = |package: &str| {
        let name = format!("{package}.{kind}");
        descriptors.pool.get_message_by_name(&name)
    };
    let package = descriptors.packages.get(api_version);
    package
        .and_then(|package| find(package))
        .or_else(|| find(META_V1).filter(|_| is_served_in_every_group(kind)))
        .ok_or_else(|| ProtobufError::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
}

fn is_served_in_every_group(kind: &str) -> bool {
    matches!(kind, "Status" | "WatchEvent" | "List")
        || kind.ends_with("Options")
        || kind.starts_with("API")
}

/// All messages but map entries.
#[cfg(test)]
pub(super) fn messages() -> Vec<MessageDescriptor> {
    let pool = &DESCRIPTORS.as_ref().unwrap().pool;
    pool.all_messages()
        .filter(|message| !message.is_map_entry())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_of_kinds_has_its_api_version() {
        let descriptors = DESCRIPTORS.as_ref().unwrap();
        for group in [
            "v1",
            "apps/v1",
            "autoscaling/v2",
            "rbac.authorization.k8s.io/v1",
            "flowcontrol.apiserver.k8s.io/v1",
            "apiextensions.k8s.io/v1",
            "apiregistration.k8s.io/v1",
            "coordination.k8s.io/v1",
        ] {
            assert!(descriptors.packages.contains_key(group), "{group}");
        }
        assert!(message_of("batch/v1", "Job").is_ok());
        assert!(message_of("batch/v1", "DeleteOptions").is_ok());
        assert!(message_of("batch.volcano.sh/v1", "Job").is_err());
        assert!(message_of("kueue.x-k8s.io/v1beta2", "Workload").is_err());
    }
}
