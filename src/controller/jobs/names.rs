//! Names of Workloads: the kind and name of the job, cut to fit, and a short hash that tells apart
//! jobs of one name.

use sha1::{Digest, Sha1};

use super::frameworks::Gvk;

/// Digits of the hash at the end of a name.
const HASH_LENGTH: usize = 5;

/// The longest name: of a label value where names are to be used as such, or of any object.
fn longest(short: bool) -> usize {
    if short { 63 } else { 253 }
}

/// The name of the Workload of a job. `extra` tells apart several Workloads of one job; `short` is
/// the gate ShortWorkloadNames.
pub fn workload_name(name: &str, uid: &str, gvk: &Gvk, extra: &str, short: bool) -> String {
    let prefix = format!("{}-{name}", gvk.kind.to_lowercase());
    let prefix = cut(&prefix, longest(short) - 1 - HASH_LENGTH);
    let mut hash = hex(name, uid, gvk, extra);
    hash.truncate(HASH_LENGTH);
    format!("{prefix}-{hash}")
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn hex(name: &str, uid: &str, gvk: &Gvk, extra: &str) -> String {
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
    fn a_name_of_a_real_cluster() {
        // From a run of upstream.
        let uid = "98999376-692b-4124-b77d-58e60e751a3a";
        assert_eq!(
            workload_name("job-low", uid, &job(), "", true),
            "job-job-low-d0f05"
        );
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "a".repeat(300);
        let name = workload_name(&long, "1", &job(), "", true);
        assert_eq!(name.len(), 63);
        assert_eq!(workload_name(&long, "1", &job(), "", false).len(), 253);
        assert_ne!(name, workload_name(&long, "2", &job(), "", true));
        assert_ne!(name, workload_name(&long, "1", &job(), "7", true));
    }
}
