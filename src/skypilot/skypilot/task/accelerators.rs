//! `accelerators`: a string, a mapping, or a list of alternatives.

use indexmap::IndexMap;
use serde::Deserialize;

use kueue_lab_yaml::{Position, Problem};

/// GPUs of one kind for one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Accelerator {
    /// SkyPilot's name, such as `H100`.
    pub name: String,
    /// Count; fractions are rounded up on Kubernetes.
    pub count: u32,
}

/// The field as deserialized.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(
    untagged,
    expecting = "accelerators are NAME:COUNT, a list of those, or a mapping of names to counts"
)]
pub(super) enum RawAccelerators {
    /// `H100`, `H100:8` or `{H100:8, A100:8}` as one string.
    Text(String),
    /// Alternatives.
    List(Vec<String>),
    /// `{H100: 8}`; several keys are alternatives, no value means one.
    Map(IndexMap<String, Option<f64>>),
}

impl RawAccelerators {
    /// The alternatives, in the order of the file.
    pub(super) fn alternatives(&self, at: Position) -> Result<Vec<Accelerator>, Problem> {
        match self {
            Self::Text(text) => parse(text, at).map(|a| vec![a]),
            Self::List(items) if items.is_empty() => {
                Err(Problem::new(at, "the list of accelerators is empty"))
            }
            Self::List(items) => items.iter().map(|i| parse(i, at)).collect(),
            Self::Map(map) => map
                .iter()
                // In YAML `{H100:8}` without a space is the key "H100:8" without a value.
                .map(|(name, count)| match count {
                    None => parse(name, at),
                    Some(count) => build(name, *count, at),
                })
                .collect(),
        }
    }
}

fn parse(text: &str, at: Position) -> Result<Accelerator, Problem> {
    let (name, count) = match text.split_once(':') {
        None => (text, Some(1.0)),
        Some((name, count)) => (name, count.trim().parse().ok()),
    };
    match count {
        Some(count) => build(name.trim(), count, at),
        None => {
            let message = format!("an accelerator is NAME or NAME:COUNT; found {text:?}");
            Err(Problem::new(at, message))
        }
    }
}

fn build(name: &str, count: f64, at: Position) -> Result<Accelerator, Problem> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(word) {
        let message = format!("{name:?} is not the name of an accelerator");
        return Err(Problem::new(at, message));
    }
    if name.to_ascii_lowercase().starts_with("tpu") {
        return Err(Problem::new(at, "the lab does not emulate TPUs"));
    }
    if !(count > 0.0 && count <= 1024.0) {
        let message = format!("the count of {name} must be above 0 and at most 1024");
        return Err(Problem::new(at, message));
    }
    Ok(Accelerator {
        name: name.to_owned(),
        count: count.ceil() as u32,
    })
}
