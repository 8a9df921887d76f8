//! The policy of a namespace: level and version of each mode, by its labels.

use std::fmt;

use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;
use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;

const LABEL_PREFIX: &str = "pod-security.kubernetes.io/";

/// A level, from the most permissive to the most restrictive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Everything is allowed.
    Privileged,
    /// Known privilege escalations are forbidden.
    Baseline,
    /// Pods are hardened.
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "privileged" => Ok(Self::Privileged),
            "baseline" => Ok(Self::Baseline),
            "restricted" => Ok(Self::Restricted),
            _ => Err("must be one of privileged, baseline, restricted"),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        })
    }
}

/// The version of the standards: that of a minor release of Kubernetes 1, or the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    /// `v1.N`
    Minor(u64),
    /// `latest`
    Latest,
}

impl Version {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let wrong = r#"must be "latest" or "v1.x""#;
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let digits = text.strip_prefix("v1.").ok_or(wrong)?;
        let is_number = digits.bytes().all(|b| b.is_ascii_digit());
        if !is_number || (digits.starts_with('0') && digits != "0") {
            return Err(wrong);
        }
        digits.parse().map(Self::Minor).map_err(|_| wrong)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minor(minor) => write!(f, "v1.{minor}"),
            Self::Latest => f.write_str("latest"),
        }
    }
}

/// A level in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: Version,
}

impl LevelVersion {
    const PRIVILEGED: Self = Self {
        level: Level::Privileged,
        version: Version::Latest,
    };
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.version)
    }
}

/// The policy of a namespace. The mode `audit` writes to the audit log, which the server does not
/// have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    /// Violations are rejected.
    pub(super) enforce: LevelVersion,
    /// Violations are warned of.
    pub(super) warn: LevelVersion,
}

impl Policy {
    /// The policy of a namespace, and the errors of its labels. An invalid level is restricted in
    /// `enforce`, and privileged in the other modes.
    pub(super) fn of_namespace(namespace: &Value) -> (Self, Vec<FieldError>) {
        let labels = namespace.at("/metadata/labels");
        let mut errors = ErrorList::default();
        let (level, version) = mode(labels, "enforce", &mut errors);
        let enforces = matches!(level, Some(Some(_)));
        let enforce = LevelVersion {
            level: level.map_or(Level::Privileged, |l| l.unwrap_or(Level::Restricted)),
            version: version.unwrap_or(Version::Latest),
        };
        mode(labels, "audit", &mut errors);
        let (level, version) = mode(labels, "warn", &mut errors);
        let warns = level.is_some();
        let mut warn = LevelVersion {
            level: level.flatten().unwrap_or(Level::Privileged),
            version: version.unwrap_or(Version::Latest),
        };
        // A level that is enforced is also warned of.
        if !warns && enforces && enforce.level > warn.level {
            warn.level = enforce.level;
            warn.version = version.unwrap_or(enforce.version);
        }
        (Self { enforce, warn }, errors.0)
    }

    /// Whether all is allowed without a warning.
    pub(super) fn is_privileged(&self) -> bool {
        self.enforce.level == Level::Privileged && self.warn.level == Level::Privileged
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            enforce: LevelVersion::PRIVILEGED,
            warn: LevelVersion::PRIVILEGED,
        }
    }
}

/// The labels of a mode: the level (`Some(None)` if it is invalid) and the version.
fn mode(
    labels: &Value,
    mode: &str,
    errors: &mut ErrorList,
) -> (Option<Option<Level>>, Option<Version>) {
    let path = FieldPath::root("metadata");
    let path = path.child("labels");
    let label = |name: String| {
        let value = labels.get(&name)?.as_str().unwrap_or_default();
        Some((name, value))
    };
    let mut report = |name: String, value: &str, why: &str| {
        errors.invalid(&path.key(&name), value, why);
    };
    let level = label(format!("{LABEL_PREFIX}{mode}")).map(|(name, value)| {
        let parsed = Level::parse(value);
        parsed.map_err(|why| report(name, value, why)).ok()
    });
    let version = label(format!("{LABEL_PREFIX}{mode}-version")).map(|(name, value)| {
        let parsed = Version::parse(value);
        parsed.unwrap_or_else(|why| {
            report(name, value, why);
            Version::Latest
        })
    });
    (level, version)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(labels: &[(&str, &str)]) -> (Policy, Vec<String>) {
        let labels: serde_json::Map<String, Value> = labels
            .iter()
            .map(|(name, value)| (format!("{LABEL_PREFIX}{name}"), json!(value)))
            .collect();
        let namespace = json!({"metadata": {"labels": labels}});
        let (policy, errors) = Policy::of_namespace(&namespace);
        (policy, errors.iter().map(ToString::to_string).collect())
    }

    fn texts(labels: &[(&str, &str)]) -> [String; 2] {
        let (policy, errors) = policy(labels);
        assert_eq!(errors, [""; 0]);
        [policy.enforce.to_string(), policy.warn.to_string()]
    }

    #[test]
    fn labels_decide() {
        assert_eq!(texts(&[]), ["privileged:latest"; 2]);
        assert_eq!(texts(&[("enforce", "baseline")]), ["baseline:latest"; 2]);
        assert_eq!(
            texts(&[("enforce", "restricted"), ("enforce-version", "v1.20")]),
            ["restricted:v1.20"; 2]
        );
        let labels = [
            ("enforce", "restricted"),
            ("enforce-version", "v1.20"),
            ("warn-version", "v1.0"),
        ];
        assert_eq!(texts(&labels), ["restricted:v1.20", "restricted:v1.0"]);
        assert_eq!(
            texts(&[("enforce", "restricted"), ("warn", "privileged")]),
            ["restricted:latest", "privileged:latest"]
        );
        assert_eq!(
            texts(&[("warn", "restricted"), ("audit", "restricted")]),
            ["privileged:latest", "restricted:latest"]
        );
    }

    #[test]
    fn invalid_labels_are_errors() {
        let (policy, errors) = policy(&[
            ("enforce", "strict"),
            ("enforce-version", "1.20"),
            ("audit", ""),
            ("warn-version", "v1.020"),
        ]);
        let levels = "must be one of privileged, baseline, restricted";
        let versions = r#"must be "latest" or "v1.x""#;
        assert_eq!(
            errors,
            [
                format!(
                    "metadata.labels[{LABEL_PREFIX}enforce]: Invalid value: \"strict\": {levels}"
                ),
                format!(
                    "metadata.labels[{LABEL_PREFIX}enforce-version]: Invalid value: \"1.20\": {versions}"
                ),
                format!("metadata.labels[{LABEL_PREFIX}audit]: Invalid value: \"\": {levels}"),
                format!(
                    "metadata.labels[{LABEL_PREFIX}warn-version]: Invalid value: \"v1.020\": {versions}"
                ),
            ]
        );
        assert_eq!(policy.enforce.to_string(), "restricted:latest");
        assert_eq!(policy.warn.to_string(), "privileged:latest");
    }
}
