//! [`Pseudonyms`]: consistent pseudonyms of names, part by part.
//!
//! A name is split at characters that are no letters or digits, and each part has one pseudonym. So names
//! that are made from others, such as that of a Pod from its Job, stay so, and the order of names stays.

use std::collections::{BTreeMap, BTreeSet};

use super::strings::{is_common, is_no_name};

/// The longest label value.
const MAX_LABEL: usize = 63;
const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Words of Kueue's sentences that are names only in quotes or after the kind of an object.
const MESSAGE_WORDS: [&str; 52] = [
    "a",
    "admission",
    "admitted",
    "all",
    "an",
    "and",
    "at",
    "be",
    "borrowing",
    "by",
    "capacity",
    "check",
    "checks",
    "cohort",
    "default",
    "excluded",
    "exceeded",
    "fit",
    "flavor",
    "flavors",
    "for",
    "from",
    "has",
    "in",
    "insufficient",
    "is",
    "least",
    "limit",
    "main",
    "maximum",
    "more",
    "needed",
    "node",
    "nodes",
    "not",
    "of",
    "only",
    "out",
    "pod",
    "pods",
    "preempted",
    "priority",
    "queue",
    "quota",
    "request",
    "resource",
    "set",
    "to",
    "topology",
    "unused",
    "waiting",
    "workload",
];
/// Words before the name of an object.
const KINDS: [&str; 9] = [
    "flavor",
    "flavors",
    "ClusterQueue",
    "clusterQueue",
    "LocalQueue",
    "localQueue",
    "Cohort",
    "set",
    "Workload",
];

/// Pseudonyms of names.
#[derive(Debug, Default)]
pub(super) struct Pseudonyms {
    parts: BTreeMap<String, String>,
    /// All names that were replaced.
    names: BTreeSet<String>,
}

impl Pseudonyms {
    /// The pseudonyms of these names.
    pub(super) fn new(names: BTreeSet<String>) -> Self {
        let mut parts: BTreeSet<&str> = BTreeSet::new();
        for name in &names {
            parts.extend(name_parts(name).filter(|part| is_name_part(part)));
        }
        let mut width = 1;
        while DIGITS.len().pow(width) < parts.len() {
            width += 1;
        }
        let pseudonym = |mut number: usize| {
            let mut digits = vec![b'0'; width as usize];
            for digit in digits.iter_mut().rev() {
                *digit = DIGITS[number % DIGITS.len()];
                number /= DIGITS.len();
            }
            format!("t{}", String::from_utf8_lossy(&digits))
        };
        let parts = parts
            .into_iter()
            .enumerate()
            .map(|(number, part)| (part.to_owned(), pseudonym(number)))
            .collect();
        Self { parts, names }
    }

    /// The pseudonym of a name.
    pub(super) fn of(&self, name: &str) -> String {
        if is_no_name(name) {
            return name.to_owned();
        }
        let parts = name_parts(name).map(|part| self.parts.get(part).map_or(part, String::as_str));
        let pseudonym: String = parts.collect();
        match pseudonym.len() > MAX_LABEL && name.len() <= MAX_LABEL {
            true => format!("t{:016x}", hash(name)),
            false => pseudonym,
        }
    }

    /// A text with pseudonyms in place of the names in it.
    pub(super) fn in_text(&self, text: &str) -> String {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        let mut previous = "";
        while let Some(start) = rest.find(is_of_name) {
            replaced.push_str(&rest[..start]);
            let word = &rest[start..];
            let end = word.find(|c| !is_of_name(c)).unwrap_or(word.len());
            // The full stop of a sentence is not part of a name.
            let name = word[..end].trim_end_matches('.');
            let is_word = MESSAGE_WORDS.contains(&name)
                && !replaced.ends_with(['"', '\''])
                && !KINDS.contains(&previous);
            previous = name;
            match self.names.contains(name) && !is_word {
                true => replaced.push_str(&self.of(name)),
                false => replaced.push_str(name),
            }
            replaced.push_str(&word[name.len()..end]);
            rest = &word[end..];
        }
        replaced + rest
    }
}

fn is_name_part(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphanumeric()) && !is_common(part)
}

/// The parts of a name, and the separators between them.
fn name_parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_same = |c: char| c.is_alphanumeric() == first.is_alphanumeric();
        let end = rest.find(|c| !is_same(c)).unwrap_or(rest.len());
        let (part, left) = rest.split_at(end);
        rest = left;
        Some(part)
    })
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pseudonyms(names: &[&str]) -> Pseudonyms {
        Pseudonyms::new(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn derived_names_stay_derived() {
        let all = pseudonyms(&["alpha", "alpha-train", "alpha-train-0-x7f2q"]);
        let (queue, job) = (all.of("alpha"), all.of("alpha-train"));
        assert!(job.starts_with(&format!("{queue}-")), "{job}");
        assert!(
            all.of("alpha-train-0-x7f2q")
                .starts_with(&format!("{job}-0-"))
        );
        assert_eq!(all.of("12"), "12");
        assert_eq!(
            all.in_text("no quota in alpha-train. See path /alpha/betas"),
            format!("no quota in {job}. See path /{queue}/betas")
        );
        let words = pseudonyms(&["topology", "quota"]);
        let (topology, quota) = (words.of("topology"), words.of("quota"));
        assert_eq!(
            words.in_text("topology \"topology\" allows no quota in flavor quota"),
            format!("topology \"{topology}\" allows no quota in flavor {quota}")
        );
    }

    proptest! {
        #[test]
        fn pseudonyms_are_different_and_keep_the_order(names in proptest::collection::btree_set("[b-z]{3,6}(-[b-z]{3,4}){0,2}", 2..12)) {
            let all = Pseudonyms::new(names.clone());
            let replaced: Vec<String> = names.iter().map(|name| all.of(name)).collect();
            let sorted: BTreeSet<String> = replaced.iter().cloned().collect();
            prop_assert_eq!(sorted.len(), names.len());
            prop_assert_eq!(replaced, sorted.into_iter().collect::<Vec<_>>());
        }
    }
}
