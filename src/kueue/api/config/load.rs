//! Loads a configuration file.

use super::excluded_inputs::excluded_inputs;
use super::integration_frameworks::Framework;
use super::without_effect::{IgnoredSetting, ignored_settings};
use super::{Configuration, GROUP, defaults, v1beta1, validate};
use crate::feature_gates::FeatureGates;
use crate::field::{FieldError, Path};
use crate::problem::Problem;
use kueue_lab_yaml::{self as yaml, Kind, Limits, Node, Position, TypeMismatch, UnknownField};

/// The key of the configuration in Kueue's ConfigMap.
pub const CONFIG_MAP_KEY: &str = "controller_manager_config.yaml";

/// A loaded configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedConfiguration {
    /// The configuration in v1beta2, with defaults.
    pub configuration: Configuration,
    /// The document, without the ConfigMap around it.
    pub source: String,
    /// Its feature gates.
    pub gates: FeatureGates,
    /// Warnings about converted settings, and about resources that are excluded and transformed.
    pub warnings: Vec<Problem>,
    /// The settings without effect that the file sets.
    pub ignored: Vec<IgnoredSetting>,
}

/// Loads a configuration of v1beta2 or v1beta1, bare or in the ConfigMap of Kueue's manifests,
/// whose `kind` may be missing. Unknown fields are errors, as upstream. A duplicate framework is
/// dropped with a warning, because scripts may add one that is enabled already.
///
/// # Errors
/// All problems of the file.
pub fn load(text: &str) -> Result<LoadedConfiguration, Vec<Problem>> {
    let roots = yaml::documents(text, Limits::default()).map_err(|e| vec![e.into()])?;
    let [root] = roots.as_slice() else {
        let at = roots.get(1).map_or(Position::START, |r| r.at);
        let count = roots.len();
        return Err(vec![problem(
            at,
            "",
            format!("expected one configuration, found {count}"),
        )]);
    };
    let wrapped = root.get("data").and_then(|data| data.get(CONFIG_MAP_KEY));
    let kind = root.get("kind").and_then(Node::as_str);
    match (wrapped, kind) {
        (Some(inner), None | Some("ConfigMap")) => {
            let Some(content) = inner.as_str() else {
                let path = format!("data[{CONFIG_MAP_KEY}]");
                return Err(vec![problem(inner.at, &path, "must be text".to_owned())]);
            };
            let shift = PositionOffset::in_text(text, inner.at);
            load_document(content)
                .map_err(|p| shift.apply(p))
                .map(|loaded| LoadedConfiguration {
                    warnings: shift.apply(loaded.warnings),
                    ignored: shift.apply_to_ignored(loaded.ignored),
                    ..loaded
                })
        }
        (None, Some("ConfigMap")) => {
            let message = format!("has no {CONFIG_MAP_KEY}");
            Err(vec![problem(root.locate("data"), "data", message)])
        }
        _ => load_root(root.clone(), text),
    }
}

fn load_document(text: &str) -> Result<LoadedConfiguration, Vec<Problem>> {
    let mut roots = yaml::documents(text, Limits::default()).map_err(|e| vec![e.into()])?;
    match (roots.pop(), roots.is_empty()) {
        (Some(root), true) => load_root(root, text),
        _ => {
            let at = Position::START;
            Err(vec![problem(
                at,
                "",
                "expected one configuration".to_owned(),
            )])
        }
    }
}

fn problem(at: Position, path: &str, message: String) -> Problem {
    Problem {
        at,
        path: path.to_owned(),
        message,
        remedy: None,
    }
}

/// Maps positions in an embedded text to positions in the outer text.
struct PositionOffset {
    start: Position,
    /// The indentation of the embedded text; `None` if it is not a block scalar.
    indent: Option<u32>,
}

impl PositionOffset {
    fn in_text(text: &str, at: Position) -> Self {
        let line = |n: u32| {
            text.lines()
                .nth(n.saturating_sub(1) as usize)
                .unwrap_or_default()
        };
        let marker = line(at.line)
            .chars()
            .nth(at.column.saturating_sub(1) as usize);
        // A block scalar starts on the line after its marker.
        let first = if matches!(marker, Some('|' | '>')) {
            at.line + 1
        } else {
            at.line
        };
        let above = line(first.saturating_sub(1)).trim_end();
        let block = above.ends_with(['|', '>', '-', '+']) && above.contains(['|', '>']);
        let indent = line(first).chars().take_while(|c| *c == ' ').count();
        let indent = u32::try_from(indent).unwrap_or(u32::MAX);
        Self {
            start: Position {
                line: first,
                column: 1,
            },
            indent: block.then_some(indent),
        }
    }

    fn apply_to_ignored(&self, ignored: Vec<IgnoredSetting>) -> Vec<IgnoredSetting> {
        let (places, problems) = ignored
            .into_iter()
            .map(|setting| (setting.no_effect_in, setting.problem))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let problems = self.apply(problems).into_iter();
        let settings = places.into_iter().zip(problems);
        settings
            .map(|(no_effect_in, problem)| IgnoredSetting {
                no_effect_in,
                problem,
            })
            .collect()
    }

    fn apply(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let shifted = |at: Position| match self.indent {
            Some(indent) => Position {
                line: self.start.line + at.line - 1,
                column: at.column.saturating_add(indent),
            },
            None => self.start,
        };
        problems
            .into_iter()
            .map(|p| Problem {
                at: shifted(p.at),
                ..p
            })
            .collect()
    }
}

fn load_root(mut root: Node, source: &str) -> Result<LoadedConfiguration, Vec<Problem>> {
    let old = is_v1beta1(&root)?;
    if let Kind::Map(entries) = &mut root.kind {
        entries.retain(|e| e.key != "apiVersion" && e.key != "kind");
    }
    let whole = root.clone();
    let fail = |e: TypeMismatch| vec![Problem::from(e)];
    let mut of_old = if old {
        Some(v1beta1::extract(&mut root).map_err(fail)?)
    } else {
        None
    };
    let (mut configuration, mut unknown) = yaml::read::<Configuration>(&root).map_err(fail)?;
    unknown.extend(
        of_old
            .as_mut()
            .map(|o| std::mem::take(&mut o.unknown))
            .into_iter()
            .flatten(),
    );
    if !unknown.is_empty() {
        unknown.sort_by_key(|u| u.at);
        return Err(unknown.into_iter().map(unknown_field).collect());
    }
    let mut warnings = deduplicate_frameworks(&mut configuration, &whole);
    match of_old {
        Some(of_old) => warnings.extend(v1beta1::convert(&mut configuration, of_old)),
        None => defaults::apply(&mut configuration),
    }
    let located =
        |e: FieldError| problem(whole.locate(e.path.as_str()), e.path.as_str(), e.message());
    let gates = resolve_gates(None, &configuration).map_err(|e| vec![located(e)])?;
    let errors = validate(&configuration, &gates);
    if errors.is_empty() {
        warnings.extend(excluded_inputs(&configuration, &whole));
        Ok(LoadedConfiguration {
            ignored: ignored_settings(&whole, &gates),
            configuration,
            source: source.to_owned(),
            gates,
            warnings,
        })
    } else {
        let mut problems: Vec<Problem> = errors.into_iter().map(located).collect();
        problems.dedup();
        Err(problems)
    }
}

/// Whether the document is of v1beta1 rather than v1beta2.
fn is_v1beta1(root: &Node) -> Result<bool, Vec<Problem>> {
    let text = |field: &str| root.get(field).and_then(Node::as_str).unwrap_or_default();
    let at = |field: &str| root.locate(field);
    if text("kind") != "Configuration" {
        let message = format!("must be Configuration, not {:?}", text("kind"));
        return Err(vec![problem(at("kind"), "kind", message)]);
    }
    match text("apiVersion").split_once('/') {
        Some((GROUP, "v1beta2")) => Ok(false),
        Some((GROUP, "v1beta1")) => Ok(true),
        _ => {
            let message = format!(
                "must be {GROUP}/v1beta2 or {GROUP}/v1beta1, not {:?}",
                text("apiVersion")
            );
            Err(vec![problem(at("apiVersion"), "apiVersion", message)])
        }
    }
}

fn unknown_field(unknown: UnknownField) -> Problem {
    Problem {
        at: unknown.at,
        path: unknown.path,
        message: "unknown field".to_owned(),
        remedy: unknown
            .suggestion
            .map(|meant| format!("did you mean {meant}?")),
    }
}

/// Removes duplicate frameworks.
fn deduplicate_frameworks(configuration: &mut Configuration, root: &Node) -> Vec<Problem> {
    let Some(integrations) = &mut configuration.integrations else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut index = 0;
    integrations.frameworks.retain(|name| {
        let path = format!("integrations.frameworks[{index}]");
        index += 1;
        let twice = Framework::named(name).is_some() && seen.contains(name);
        if twice {
            warnings.push(Problem {
                at: root.locate(&path),
                path,
                message: format!("{name:?} is a duplicate"),
                remedy: Some("Kueue fails to start with a duplicate framework".to_owned()),
            });
        }
        seen.push(name.clone());
        !twice
    });
    warnings
}

/// The feature gates of a configuration or of a command line such as `PriorityBoost=true`.
///
/// # Errors
/// Both are given, or the gates are invalid.
pub fn resolve_gates(
    command_line: Option<&str>,
    configuration: &Configuration,
) -> Result<FeatureGates, FieldError> {
    let path = Path::new("featureGates");
    let map = &configuration.feature_gates;
    match command_line.filter(|text| !text.is_empty()) {
        Some(_) if !map.is_empty() => {
            let detail = "feature gates for CLI and configuration cannot both specified";
            Err(FieldError::invalid(&path, map, detail))
        }
        Some(text) => {
            FeatureGates::parse(text).map_err(|e| FieldError::invalid(&path, text, e.to_string()))
        }
        None => {
            FeatureGates::from_map(map).map_err(|e| FieldError::invalid(&path, map, e.to_string()))
        }
    }
}
