//! One kind's behaviour as a record of functions, so that a kind states only what is particular to it.

use jiff::Timestamp;
use serde_json::Value;

use super::meta::{self, names};
use super::tables::{self, Table};
use super::value::Look;
use crate::field::FieldError;
use crate::kind::{Behaviour, Column};

/// What is particular to a built-in kind. Start from [`Rules::PLAIN`].
#[derive(Clone, Copy)]
pub struct Rules {
    /// How its names are checked.
    pub name: names::NameRule,
    /// Whether objects live in a namespace; set when the rules are looked up.
    pub namespaced: bool,
    /// Table form; set when the rules are looked up.
    pub table: Table,
    /// See [`Behaviour::default`].
    pub default: fn(&mut Value),
    /// See [`Behaviour::prepare_create`].
    pub prepare_create: fn(&mut Value),
    /// See [`Behaviour::prepare_update`].
    pub prepare_update: fn(&mut Value, &Value),
    /// See [`Behaviour::prepare_subresource`].
    pub prepare_subresource: fn(&str, &mut Value, &Value),
    /// Field errors of a new object besides those of its metadata.
    pub create: fn(&Value) -> Vec<FieldError>,
    /// Field errors of a change besides those of its metadata.
    pub update: fn(&Value, &Value) -> Vec<FieldError>,
    /// See [`Behaviour::validate_subresource`].
    pub subresource: fn(&str, &Value, &Value) -> Vec<FieldError>,
    /// See [`Behaviour::warnings`].
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
    /// What raises the generation: fields of the object itself, none for kinds without generations.
    pub generation_of: &'static [&'static str],
    /// Whether annotations raise the generation too.
    pub generation_of_annotations: bool,
    /// See [`Behaviour::keeps_status`].
    pub keeps_status: bool,
    /// See [`Behaviour::creates_on_update`].
    pub creates_on_update: bool,
    /// See [`Behaviour::orphans_by_default`].
    pub orphans_by_default: bool,
    /// Fields a selector may name besides name and namespace, and where their values are.
    pub fields: Fields,
}

/// A field a selector may name: its name, where its value is, and the text of a value that is not
/// there.
pub type Field = (&'static str, &'static str, &'static str);

/// Fields for field selectors.
#[derive(Clone, Copy)]
pub enum Fields {
    /// None of its own.
    None,
    /// These; an unknown one is refused in the words most kinds use.
    Some(&'static [Field]),
    /// These; an unknown one is refused with the name of the kind.
    Named(&'static [Field], &'static str),
}

impl Fields {
    fn list(self) -> &'static [Field] {
        match self {
            Self::None => &[],
            Self::Some(list) | Self::Named(list, _) => list,
        }
    }
}

impl Rules {
    /// A kind with nothing particular.
    pub const PLAIN: Self = Self {
        name: names::subdomain_name,
        namespaced: false,
        table: tables::DEFAULT,
        default: |_| {},
        prepare_create: |_| {},
        prepare_update: |_, _| {},
        prepare_subresource: |_, _, _| {},
        create: |_| Vec::new(),
        update: |_, _| Vec::new(),
        subresource: |_, _, _| Vec::new(),
        warnings: |_, _| Vec::new(),
        generation_of: &[],
        generation_of_annotations: false,
        keeps_status: false,
        creates_on_update: false,
        orphans_by_default: false,
        fields: Fields::None,
    };
}

impl Behaviour for Rules {
    fn default(&self, object: &mut Value) {
        (self.default)(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        (self.prepare_create)(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        (self.prepare_update)(new, old);
    }

    fn prepare_subresource(&self, subresource: &str, new: &mut Value, old: &Value) {
        (self.prepare_subresource)(subresource, new, old);
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = meta::validate_new(object, self.namespaced, self.name);
        errors.extend((self.create)(object));
        if errors.is_empty() {
            errors = meta::validate_any(object, self.namespaced);
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = meta::validate_any_update(new, old, self.namespaced);
        errors.extend(meta::validate_update(new, old));
        errors.extend((self.update)(new, old));
        errors
    }

    fn validate_subresource(&self, name: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = meta::validate_any_update(new, old, self.namespaced);
        errors.extend(meta::validate_update(new, old));
        errors.extend((self.subresource)(name, new, old));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        (self.warnings)(new, old)
    }

    fn has_generation(&self) -> bool {
        !self.generation_of.is_empty()
    }

    fn raises_generation(&self, new: &Value, old: &Value) -> bool {
        let annotations = "/metadata/annotations";
        self.generation_of
            .iter()
            .any(|field| new.get(field) != old.get(field))
            || self.generation_of_annotations && new.at(annotations) != old.at(annotations)
    }

    fn keeps_status(&self) -> bool {
        self.keeps_status
    }

    fn creates_on_update(&self) -> bool {
        self.creates_on_update
    }

    fn orphans_by_default(&self) -> bool {
        self.orphans_by_default
    }

    fn columns(&self) -> Vec<Column> {
        self.table.columns()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        (self.table.cells)(object, now)
    }

    fn selectable(&self, path: &str) -> Result<(), String> {
        let own = matches!(path, "metadata.name" | "metadata.namespace");
        if own || self.fields.list().iter().any(|f| f.0 == path) {
            return Ok(());
        }
        Err(match self.fields {
            Fields::None => format!(
                "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
            Fields::Some(_) => format!("field label not supported: {path}"),
            Fields::Named(_, kind) => format!("field label {path:?} not supported for {kind}"),
        })
    }

    fn field(&self, object: &Value, path: &str) -> String {
        // A name may stand more than once: the first place with a value counts.
        let places = self.fields.list().iter().filter(|f| f.0 == path);
        let mut absent = "";
        for (_, pointer, default) in places {
            match tables::parts::scalar(object.at(pointer)) {
                text if text.is_empty() => absent = default,
                text => return text,
            }
        }
        absent.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_for_selectors() {
        let rules = Rules {
            fields: Fields::Some(&[
                ("spec.unschedulable", "/spec/unschedulable", "false"),
                ("source", "/source/component", ""),
                ("source", "/reportingComponent", ""),
            ]),
            ..Rules::PLAIN
        };
        let o = json!({"spec": {}, "source": {}, "reportingComponent": "r"});
        assert_eq!(rules.field(&o, "spec.unschedulable"), "false");
        assert_eq!(rules.field(&o, "source"), "r");
        assert_eq!(
            rules.field(
                &json!({"spec": {"unschedulable": true}}),
                "spec.unschedulable"
            ),
            "true"
        );
        assert!(rules.selectable("metadata.name").is_ok() && rules.selectable("source").is_ok());
        assert_eq!(
            rules.selectable("x").unwrap_err(),
            "field label not supported: x"
        );
        let plain = Rules::PLAIN.selectable("spec.replicas").unwrap_err();
        assert!(
            plain.starts_with("\"spec.replicas\" is not a known field selector"),
            "{plain}"
        );
    }
}
