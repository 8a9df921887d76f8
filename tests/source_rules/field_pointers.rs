//! A JSON pointer to a field of a built-in kind is a string, and a misspelt one reads as an absent field. Each pointer
//! literal of the Kubernetes crates leads through fields of the type tables in
//! `src/kubernetes/apimachinery/schema/types/`, from any type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use crate::program_sources::program_sources;

/// Fields of objects that the tables do not have: review responses of webhooks, and discovery documents.
const OTHERS: &[&str] = &["/namespaced", "/patch", "/singularName", "/warnings"];

/// A type of the tables, by package and name.
type Name = (String, String);

#[derive(Default)]
struct Type {
    alias: Option<String>,
    fields: BTreeMap<String, String>,
}

struct Tables(BTreeMap<Name, Type>);

/// What a pointer has reached.
#[derive(Clone)]
enum Reached {
    Type(Name),
    List(Box<Reached>),
    Map(Box<Reached>),
    /// A value of any form, such as a JSON schema.
    Any,
    Scalar,
}

impl Tables {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("src/kubernetes/apimachinery/schema/types");
        let mut types = BTreeMap::<Name, Type>::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let package = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let mut current = (package.clone(), String::new());
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let mut words = line.split_whitespace();
                let Some(first) = words.next() else { continue };
                if line.starts_with(' ') {
                    let fields = &mut types.entry(current.clone()).or_default().fields;
                    let type_name = words.next().unwrap_or_default();
                    fields.insert(first.to_owned(), type_name.to_owned());
                } else {
                    current = (package.clone(), first.to_owned());
                    let alias = line.split_once(" = ");
                    let alias = alias.and_then(|(_, alias)| alias.split_whitespace().next());
                    types.entry(current.clone()).or_default().alias = alias.map(str::to_owned);
                }
            }
        }
        Self(types)
    }

    fn resolve(&self, package: &str, type_name: &str) -> Reached {
        let type_name = type_name.trim_start_matches('*');
        if let Some(item) = type_name.strip_prefix("[]") {
            return Reached::List(Box::new(self.resolve(package, item)));
        }
        if let Some(value) = type_name.strip_prefix("{}") {
            return Reached::Map(Box::new(self.resolve(package, value)));
        }
        let (package, type_name) = type_name.rsplit_once('.').unwrap_or((package, type_name));
        let name = (package.to_owned(), type_name.to_owned());
        match self.0.get(&name) {
            Some(Type {
                alias: Some(alias), ..
            }) => self.resolve(package, alias),
            Some(_) => Reached::Type(name),
            None if ["string", "bool", "int32", "int64", "time"].contains(&type_name) => {
                Reached::Scalar
            }
            None => Reached::Any,
        }
    }

    fn field(&self, from: &Reached, field: &str) -> Option<Reached> {
        match from {
            Reached::Type(name) => {
                let type_name = self.0[name].fields.get(field)?;
                Some(self.resolve(&name.0, type_name))
            }
            Reached::Map(value) => Some((**value).clone()),
            Reached::List(item) if field.parse::<usize>().is_ok() => Some((**item).clone()),
            Reached::Any => Some(Reached::Any),
            Reached::List(_) | Reached::Scalar => None,
        }
    }

    fn has(&self, pointer: &str) -> bool {
        self.0.keys().any(|name| {
            let root = Some(Reached::Type(name.clone()));
            let mut fields = pointer.split('/').skip(1);
            let end = fields.try_fold(root, |reached, field| {
                let field = field.replace("~1", "/").replace("~0", "~");
                self.field(&reached?, &field).map(Some)
            });
            end.is_some()
        })
    }
}

#[test]
fn pointers_lead_through_fields_of_the_type_tables() {
    let tables = Tables::read();
    for (pointer, is_one) in [
        ("/spec/template/spec/containers/0/ports", true),
        ("/metadata/labels/app.kubernetes.io~1name", true),
        ("/spec/template/spec/container", false),
        ("/spec/suspend/x", false),
    ] {
        assert_eq!(tables.has(pointer), is_one, "{pointer}");
    }
    let call = r#"\.(?:at|has|text|int|flag|list|pointer|pointer_mut)\(\s*"((?:/[^"/\s{}]+)+)""#;
    let call = Regex::new(call).unwrap();
    let mut used = BTreeSet::new();
    let mut wrong = BTreeSet::new();
    for (file, code) in program_sources("src/kubernetes") {
        for found in call.captures_iter(&code) {
            let pointer = found[1].to_owned();
            if !OTHERS.contains(&pointer.as_str()) && !tables.has(&pointer) {
                wrong.insert((file.clone(), pointer.clone()));
            }
            used.insert(pointer);
        }
    }
    assert!(used.len() > 300, "{}", used.len());
    assert!(wrong.is_empty(), "no type has these fields: {wrong:#?}");
    let unused: Vec<_> = OTHERS.iter().filter(|o| !used.contains(**o)).collect();
    assert!(unused.is_empty(), "remove from the list: {unused:?}");
}
