//! Workload names: kind and name of the job, truncated, with a hash suffix.

use sha1::{Digest, Sha1};

use super::integration_manager::Gvk;

/// The length of the hash suffix.
const HASH_LENGTH: usize = 5;

/// The maximum length of a name: of a label value with short names, otherwise of an object name.
fn max_workload_name_length(short: bool) -> usize {
    if short { 63 } else { 253 }
}

/// The Workload name of a job. `extra` distinguishes several Workloads of one job; `short` is the
/// gate ShortWorkloadNames.
pub fn workload_name(name: &str, uid: &str, gvk: &Gvk, extra: &str, short: bool) -> String {
    let prefix = format!("{}-{name}", gvk.kind.to_lowercase());
    name_with_hash(&prefix, &hash(name, uid, gvk, extra), short)
}

/// The name of the variant of `parent` for a flavor; `gvk` is that of Workload.
pub(crate) fn variant_name(
    parent: &str,
    uid: &str,
    gvk: &Gvk,
    flavor: &str,
    short: bool,
) -> String {
    // Without the hash suffix.
    let base = parent.rsplit_once('-').map_or(parent, |(base, _)| base);
    let prefix = format!("{base}-variant-{flavor}");
    name_with_hash(&prefix, &hash(parent, uid, gvk, flavor), short)
}

/// A truncated prefix with a hash suffix.
fn name_with_hash(prefix: &str, hash: &str, short: bool) -> String {
    let prefix = truncate(prefix, max_workload_name_length(short) - 1 - HASH_LENGTH);
    format!("{prefix}-{}", truncate(hash, HASH_LENGTH))
}

fn truncate(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn hash(name: &str, uid: &str, gvk: &Gvk, extra: &str) -> String {
    let mut text = [&gvk.kind, &gvk.group, name, uid].join("\n");
    if !extra.is_empty() {
        text.push('\n');
        text.push_str(extra);
    }
    let digest = Sha1::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Gvk {
        Gvk::new("batch", "v1", "Job")
    }

    #[test]
    fn workload_name_equals_upstream() {
        // From a run of upstream.
        let uid = "98999376-692b-4124-b77d-58e60e751a3a";
        assert_eq!(
            workload_name("job-low", uid, &job(), "", true),
            "job-job-low-d0f05"
        );
    }

    #[test]
    fn variant_name_contains_its_flavor() {
        let kind = Gvk::new("kueue.x-k8s.io", "v1beta2", "Workload");
        let name = |flavor: &str| variant_name("job-train-d0f05", "1", &kind, flavor, true);
        assert!(name("spot").starts_with("job-train-variant-spot-"));
        assert_eq!(name("spot").len(), "job-train-variant-spot-".len() + 5);
        assert_ne!(name("spot"), name("spot-2"));
        let bare = variant_name("train", "1", &kind, "spot", true);
        assert!(bare.starts_with("train-variant-spot-"));
        assert_eq!(name(&"f".repeat(100)).len(), 63);
    }

    #[test]
    fn long_names_are_truncated_and_distinct() {
        let long = "a".repeat(300);
        let name = workload_name(&long, "1", &job(), "", true);
        assert_eq!(name.len(), 63);
        assert_eq!(workload_name(&long, "1", &job(), "", false).len(), 253);
        assert_ne!(name, workload_name(&long, "2", &job(), "", true));
        assert_ne!(name, workload_name(&long, "1", &job(), "7", true));
    }
}
