//! [`Placeholders`]: texts instead of names, UIDs and times that differ between runs.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// What `generateName` appends to a name.
static RANDOM_SUFFIX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[bcdfghjklmnpqrstvwxz2456789]{5}$").unwrap());
static WORKLOAD_HASH: LazyLock<Regex> = LazyLock::new(|| Regex::new("-[0-9a-f]{5}$").unwrap());

/// The texts to replace in the order of replacement: of objects that no step names, such as those of a dry
/// run, only the form is known.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+\d\d:\d\d)",
            "<time>",
        ),
        (r"kube-api-access-[a-z0-9]{5}\b", "kube-api-access-*"),
        (
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "<uid>",
        ),
        // How many at once is a matter of timing.
        (r"Added \d+ owner reference", "Added <n> owner reference"),
        (
            r"(was|after|in) \d+(\.\d+)?(ms|s|m\d+s)\b",
            "${1} <duration>",
        ),
    ];
    let compiled = patterns.map(|(pattern, text)| (Regex::new(pattern).unwrap(), text));
    compiled.into()
});

/// The placeholders of one case.
#[derive(Default)]
pub(crate) struct Placeholders {
    /// Names, and the hashes of pod templates.
    names: Vec<(String, String)>,
    uids: Vec<(String, String)>,
}

fn put(list: &mut Vec<(String, String)>, raw: &str, text: String) {
    match list.iter_mut().find(|(known, _)| known == raw) {
        Some((_, known)) => *known = text,
        None => list.push((raw.to_owned(), text)),
    }
}

impl Placeholders {
    /// Adds the names and the UID of an object.
    pub(crate) fn learn(&mut self, object: &Value) {
        let meta = &object["metadata"];
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&meta["name"]));
        if let Some(hash) = meta["labels"]["pod-template-hash"].as_str() {
            put(&mut self.names, hash, "<pth>".to_owned());
        }
        let generated = meta["generateName"].as_str();
        let suffix = generated.and_then(|start| name.strip_prefix(start));
        if kind == "Workload" {
            let known = self.replace(&name);
            let text = WORKLOAD_HASH.replace(&known, "-<hash>").into_owned();
            put(&mut self.names, &name, text);
        } else if suffix.is_some_and(|suffix| RANDOM_SUFFIX.is_match(suffix)) {
            let start = self.replace(generated.unwrap_or_default());
            put(&mut self.names, &name, format!("{start}*"));
        }
        let placeholder = format!("<uid:{kind}/{}>", self.replace(&name));
        put(&mut self.uids, &text(&meta["uid"]), placeholder);
    }

    /// A text with placeholders.
    pub(crate) fn replace(&self, text: &str) -> String {
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(raw, _)| std::cmp::Reverse(raw.chars().count()));
        let mut text = text.to_owned();
        for (raw, placeholder) in names.into_iter().chain(&self.uids) {
            if text.contains(raw.as_str()) {
                text = text.replace(raw.as_str(), placeholder);
            }
        }
        for (pattern, placeholder) in PATTERNS.iter() {
            if pattern.is_match(&text) {
                let replaced = pattern.replace_all(&text, |found: &Captures<'_>| {
                    let mut out = String::new();
                    found.expand(placeholder, &mut out);
                    out
                });
                text = replaced.into_owned();
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_uids_are_replaced() {
        let (a, b) = (
            "00000000-0000-0000-0000-00000000000a",
            "00000000-0000-0000-0000-00000000000b",
        );
        let mut known = Placeholders::default();
        known.learn(
            &json!({"kind": "Pod", "metadata": {"name": "x-7d9f-bcd24", "generateName": "x-7d9f-",
            "labels": {"pod-template-hash": "7d9f"}, "uid": a}}),
        );
        known.learn(
            &json!({"kind": "Workload", "metadata": {"name": "pod-x-7d9f-bcd24-0a1b2", "uid": b}}),
        );
        let text = format!("pod-x-7d9f-bcd24-0a1b2 of x-7d9f-bcd24: {b}, {a}, was 3.5s");
        let replaced = known.replace(&text);
        let pod = "x-<pth>-*";
        assert_eq!(
            replaced,
            format!(
                "pod-{pod}-<hash> of {pod}: <uid:Workload/pod-{pod}-<hash>>, <uid:Pod/{pod}>, was <duration>"
            )
        );
    }
}
