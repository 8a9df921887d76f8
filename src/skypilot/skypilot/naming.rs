//! Names of clusters, jobs and Pods.

use md5::{Digest, Md5};

/// Maximum length of a cluster name on Kubernetes, with the user hash.
const MAX_CLUSTER_NAME: usize = 42;
/// Maximum length of the task name in a managed job's cluster name.
const MAX_JOB_PREFIX: usize = 25;
/// Length of the hash in truncated names.
const NAME_HASH: usize = 2;

/// The cluster's name in Kubernetes: lower case, dashes for dots and underscores, with the user hash; a
/// long name is truncated and gets two characters of its MD5.
pub(crate) fn cluster_name_on_cloud(display_name: &str, user_hash: &str) -> String {
    shorten(display_name, MAX_CLUSTER_NAME, &format!("-{user_hash}"))
}

/// The cluster name of managed job `id`.
pub(crate) fn managed_cluster_name(task_name: &str, id: u64) -> String {
    format!("{}-{id}", shorten(task_name, MAX_JOB_PREFIX, ""))
}

/// Whether SkyPilot accepts a name for a cluster or a job.
pub(super) fn is_valid(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(inner)
        && name.len() <= 253
}

fn shorten(display_name: &str, longest: usize, suffix: &str) -> String {
    let name = display_name.replace(['.', '_'], "-").to_lowercase();
    if name.chars().count() + suffix.len() <= longest {
        return format!("{name}{suffix}");
    }
    let kept: String = name
        .chars()
        .take(longest.saturating_sub(NAME_HASH + 1 + suffix.len()))
        .collect();
    let hash: String = base36(&Md5::digest(display_name.as_bytes()))
        .chars()
        .take(NAME_HASH)
        .collect();
    format!("{}-{hash}{suffix}", kept.trim_end_matches('-'))
}

/// A big-endian number in base 36.
fn base36(bytes: &[u8]) -> String {
    let mut number: u128 = bytes.iter().fold(0, |n, b| (n << 8) | u128::from(*b));
    let mut digits = Vec::new();
    while number > 0 {
        let digit = (number % 36) as u32;
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_converted_to_dns_labels() {
        assert_eq!(
            cluster_name_on_cloud("My_train.v2", "fcd1e5cf"),
            "my-train-v2-fcd1e5cf"
        );
        assert_eq!(managed_cluster_name("job2", 4), "job2-4");
        assert_eq!(
            cluster_name_on_cloud(&managed_cluster_name("job2", 4), "fcd1e5cf"),
            "job2-4-fcd1e5cf"
        );
    }

    #[test]
    fn long_names_are_truncated_with_a_hash() {
        let (a, b) = (
            "a-very-long-name-of-a-training-run-one",
            "a-very-long-name-of-a-training-run-two",
        );
        let (a, b) = (
            cluster_name_on_cloud(a, "fcd1e5cf"),
            cluster_name_on_cloud(b, "fcd1e5cf"),
        );
        assert_eq!(a.len(), 42);
        assert_ne!(a, b);
        assert!(a.starts_with("a-very-long-name-of-a-training-"), "{a}");
        assert_eq!(base36(&[0x01, 0x00]), "74");
    }

    #[test]
    fn invalid_names_are_rejected() {
        for bad in ["", "1a", "a-", "a b", "ä", "a/b"] {
            assert!(!is_valid(bad), "{bad}");
        }
        assert!(is_valid("a") && is_valid("train_v1.2"));
    }
}
