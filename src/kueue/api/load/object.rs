//! Parses, converts and validates objects.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::metadata_text::metadata_problem;
use super::structural_defaults::structural_defaults;
use super::{field_aliases, schema_validation};
use crate::crds::{self, Crd};
use crate::feature_gates::FeatureGates;
use crate::field::FieldError;
use crate::problem::Problem;
use crate::{convert, v1beta2, validation};
use kueue_lab_yaml::{Limits, Node, Position, closest, documents};

/// A loaded object.
#[derive(Clone, Debug)]
pub struct LoadedObject {
    /// The object: Kueue's kinds in v1beta2, without defaults; other kinds unchanged.
    pub value: Value,
    /// The definition, if it is a kind of the lab.
    pub crd: Option<&'static Crd>,
    /// Warnings about conversions.
    pub warnings: Vec<Problem>,
    /// Unknown fields of the document's version. They are still in `value`.
    pub unknown_fields: Vec<Problem>,
    /// The document, for [`LoadedObject::locate`].
    node: Node,
}

impl LoadedObject {
    /// The position of a field in the text, or of its closest parent; for errors of an API server.
    pub fn locate(&self, path: &str) -> Position {
        field_aliases::locate(&self.node, path)
    }

    /// The position of the object.
    pub fn position(&self) -> Position {
        self.node.at
    }

    /// Deserializes the object.
    ///
    /// # Errors
    /// The object is of another kind or malformed.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        T::deserialize(&self.value).map_err(|e| Problem {
            at: self.node.at,
            path: String::new(),
            message: e.to_string(),
            remedy: None,
        })
    }

    fn text(&self, path: &str) -> &str {
        self.value
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// `apiVersion` of the converted object.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// Kind of the object.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Name of the object; empty if unset.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Namespace of the object; empty if unset.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }
}

/// Loads all objects of a text, including the items of lists (`kind: List`).
///
/// # Errors
/// All problems of the text.
pub fn objects(text: &str, gates: &FeatureGates) -> Result<Vec<LoadedObject>, Vec<Problem>> {
    let roots = documents(text, Limits::default()).map_err(|e| vec![e.into()])?;
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for root in roots {
        for node in list_items(root) {
            match object(node, gates) {
                Ok(object) => objects.push(object),
                Err(of_object) => problems.extend(of_object),
            }
        }
    }
    if problems.is_empty() {
        Ok(objects)
    } else {
        Err(problems)
    }
}

/// The items of a list object, or the object itself.
fn list_items(node: Node) -> Vec<Node> {
    let list = node
        .get("kind")
        .and_then(Node::as_str)
        .is_some_and(|k| k.ends_with("List"));
    match node.get("items") {
        Some(items) if list => items.items().to_vec(),
        _ => vec![node],
    }
}

/// Loads one document.
///
/// # Errors
/// All problems of the document.
pub fn object(mut node: Node, gates: &FeatureGates) -> Result<LoadedObject, Vec<Problem>> {
    let crd = find_crd(&node).map_err(|p| vec![p])?;
    if let Some(problem) = metadata_problem(&node) {
        return Err(vec![problem]);
    }
    let Some(crd) = crd else {
        let value = node.to_json();
        return Ok(LoadedObject {
            value,
            crd,
            warnings: Vec::new(),
            unknown_fields: Vec::new(),
            node,
        });
    };
    let mut warnings = field_aliases::apply(&mut node, crd.kind);
    let mut value = node.to_json();
    let locate = |path: &str| field_aliases::locate(&node, path);
    let problem = |path: String, message: String| Problem {
        at: locate(&path),
        path,
        message,
        remedy: None,
    };
    // Versions without a schema are converted to the closest one that has one.
    if crd.version(version_of_object(&value)).is_none() {
        let of_version = convert::convert(&mut value, "v1beta1");
        let of_version = of_version.map_err(|e| vec![problem(String::new(), e.to_string())])?;
        warnings.extend(of_version.into_iter().map(|w| problem(w.path, w.text)));
    }
    let Some(schema) = crd.schema(version_of_object(&value)) else {
        return Err(vec![problem(
            String::new(),
            "no schema for this version".to_owned(),
        )]);
    };
    let found = schema_validation::check(&value, schema);
    let unknown = found.unknown.into_iter().map(|u| Problem {
        at: locate(&u.path),
        message: "unknown field".to_owned(),
        remedy: u.suggestion.map(|s| format!("did you mean {s}?")),
        path: u.path,
    });
    let unknown: Vec<Problem> = unknown.collect();
    // An unknown field can be a misspelled required one, so it is reported first.
    let after_unknown = |errors: Vec<Problem>| unknown.iter().cloned().chain(errors).collect();
    if !found.errors.is_empty() {
        let problem = |e: FieldError| Problem {
            remedy: quoting_remedy(&e),
            ..problem(e.path.to_string(), e.message())
        };
        return Err(after_unknown(
            found.errors.into_iter().map(problem).collect(),
        ));
    }
    let storage = crd.storage().map_or(v1beta2::VERSION, |v| v.name);
    let of_hub = convert::convert(&mut value, storage);
    let of_hub = of_hub.map_err(|e| vec![problem(String::new(), e.to_string())])?;
    warnings.extend(of_hub.into_iter().map(|w| problem(w.path, w.text)));
    let mut defaulted = value.clone();
    structural_defaults(&mut defaulted);
    match validation::create(&defaulted, gates) {
        Ok(errors) if errors.is_empty() => Ok(LoadedObject {
            value,
            crd: Some(crd),
            warnings,
            unknown_fields: unknown,
            node,
        }),
        Ok(errors) => {
            let errors = errors.into_iter();
            let errors = errors.map(|e| problem(e.path.to_string(), e.message()));
            Err(after_unknown(errors.collect()))
        }
        Err(e) => Err(vec![problem(String::new(), e.to_string())]),
    }
}

/// The remedy for a number or boolean instead of a string.
fn quoting_remedy(error: &FieldError) -> Option<String> {
    let bare = ["\"boolean\"", "\"integer\"", "\"number\""];
    let quotable = error.detail.contains("string: \"")
        && error
            .bad_value
            .as_deref()
            .is_some_and(|bad| bare.contains(&bad));
    quotable.then(|| "put it in quotes to make it text".to_owned())
}

/// The version in the `apiVersion` of a value.
fn version_of_object(value: &Value) -> &str {
    version_of(value["apiVersion"].as_str().unwrap_or_default())
}

/// The definition of a document's kind; `None` for other API groups.
fn find_crd(node: &Node) -> Result<Option<&'static Crd>, Problem> {
    let missing = |field: &str| Problem {
        at: node.at,
        path: field.to_owned(),
        message: "Required value".to_owned(),
        remedy: Some("every object needs apiVersion and kind".to_owned()),
    };
    let text = |field: &str| {
        node.get(field)
            .and_then(Node::as_str)
            .filter(|t| !t.is_empty())
    };
    let api_version = text("apiVersion").ok_or_else(|| missing("apiVersion"))?;
    let kind = text("kind").ok_or_else(|| missing("kind"))?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if let Some(crd) = crds::by_kind(group, kind) {
        let version = version_of(api_version);
        let alpha = group == v1beta2::GROUP && matches!(version, "v1alpha1" | "v1alpha2");
        if alpha || crd.version(version).is_some() {
            return Ok(Some(crd));
        }
        let served: Vec<&str> = crd.versions.iter().map(|v| v.name).collect();
        return Err(Problem {
            at: node.locate("apiVersion"),
            path: "apiVersion".to_owned(),
            message: format!("no matches for kind {kind:?} in version {api_version:?}"),
            remedy: Some(format!("versions are {}", served.join(", "))),
        });
    }
    if group == v1beta2::GROUP {
        let kinds = crds::CRDS.iter().map(|c| c.kind);
        return Err(Problem {
            at: node.locate("kind"),
            path: "kind".to_owned(),
            message: format!("no matches for kind {kind:?} in version {api_version:?}"),
            remedy: closest(kind, kinds).map(|k| format!("did you mean {k}?")),
        });
    }
    Ok(None)
}

fn version_of(api_version: &str) -> &str {
    api_version.rsplit('/').next().unwrap_or_default()
}
