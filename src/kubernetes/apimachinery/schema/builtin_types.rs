//! The built-in types, and those of the custom kinds of jobs that Kueue integrates, parsed from the
//! tables in `types/` on first use.
//!
//! A table lists the types of one Go package: an unindented line opens a type, indented lines are
//! its fields in declaration order, `Name = type` declares an alias (`enum` adds its values). Field
//! lines hold name, type and flags: `?` omitempty, `??` omitzero, `@set`, `@map(keys)`, `@atomic`,
//! `@granular`, `patch=` and `key=` for strategic merge, `=JSON` the default. Types: `[]T` list,
//! `{}T` map, `*T` pointer, a lower-case word a scalar, a capitalised word a type of the same
//! package, `package.Name` one of another. Fields of custom kinds have no flags but `?` and `??`.

mod builtin_type;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::Schema;
pub(crate) use builtin_type::BuiltinType;

macro_rules! tables {
    ($($package:literal),* $(,)?) => {
        &[$(($package, include_str!(concat!("types/", $package, ".types")))),*]
    };
}

static TABLES: &[(&str, &str)] = tables![
    "meta.v1",
    "core.v1",
    "apps.v1",
    "batch.v1",
    "autoscaling.v1",
    "autoscaling.v2",
    "policy.v1",
    "rbac.v1",
    "networking.v1",
    "storage.v1",
    "scheduling.v1",
    "coordination.v1",
    "node.v1",
    "discovery.v1",
    "events.v1",
    "certificates.v1",
    "flowcontrol.v1",
    "resource.v1",
    "authentication.v1",
    "authorization.v1",
    "admissionregistration.v1",
    "apiextensions.v1",
    "apiregistration.v1",
];

/// The packages of custom kinds, each with its group and version.
static CUSTOM_PACKAGES: &[(&str, &str, &str)] = &[
    ("jobset.v1alpha2", "jobset.x-k8s.io", "v1alpha2"),
    ("leaderworkerset.v1", "leaderworkerset.x-k8s.io", "v1"),
    ("kubeflow.v1", "kubeflow.org", "v1"),
    ("kubeflow.v2beta1", "kubeflow.org", "v2beta1"),
    ("trainer.v1alpha1", "trainer.kubeflow.org", "v1alpha1"),
    ("sparkoperator.v1beta2", "sparkoperator.k8s.io", "v1beta2"),
    ("ray.v1", "ray.io", "v1"),
    ("workload.v1beta2", "workload.codeflare.dev", "v1beta2"),
];

static CUSTOM_TABLES: &[(&str, &str)] = tables![
    "jobset.v1alpha2",
    "leaderworkerset.v1",
    "kubeflow.v1",
    "kubeflow.v2beta1",
    "trainer.v1alpha1",
    "sparkoperator.v1beta2",
    "ray.v1",
    "workload.v1beta2",
];

type Index = HashMap<&'static str, HashMap<&'static str, BuiltinType>>;

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::with_capacity(TABLES.len() + CUSTOM_TABLES.len());
    for (package, text) in TABLES.iter().chain(CUSTOM_TABLES) {
        let types = index.entry(*package).or_default();
        let mut at = 0;
        while at < text.len() {
            let end = type_end(text, at);
            let block = &text[at..end];
            let name = block.split([' ', '\n']).next().unwrap_or_default();
            types.insert(name, BuiltinType::new(package, name, block));
            at = end;
        }
    }
    index
});

/// The end of the type declared at `at`: the start of the next unindented line.
fn type_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut i = at;
    loop {
        match bytes[i..].iter().position(|b| *b == b'\n') {
            None => return text.len(),
            Some(n) => i += n + 1,
        }
        if bytes.get(i) != Some(&b' ') {
            return i;
        }
    }
}

/// The schema of a built-in kind.
pub fn builtin_schema(group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
    let package = match group.split('.').next().unwrap_or_default() {
        "" => "core",
        first => first,
    };
    let package = format!("{package}.{version}");
    if CUSTOM_TABLES.iter().any(|(custom, _)| *custom == package) {
        return None;
    }
    find_named_type(&format!("{package}.{kind}"))
}

/// The Go type of a custom kind of jobs that Kueue integrates.
pub fn custom_kind_schema(group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
    let mut packages = CUSTOM_PACKAGES.iter();
    let (package, ..) = packages.find(|(_, g, v)| (*g, *v) == (group, version))?;
    find_named_type(&format!("{package}.{kind}"))
}

/// The schema of a built-in type by its table name, such as `core.v1.PodSpec` or
/// `meta.v1.ObjectMeta`. The package is the suffix of the OpenAPI package, except that `meta.v1`
/// stands for `apimachinery.pkg.apis.meta.v1`.
pub fn find_named_type(id: &str) -> Option<Arc<Schema>> {
    let (package, name) = id.rsplit_once('.')?;
    INDEX.get(package)?.get(name).map(|e| e.schema().clone())
}

/// The table names of all built-in types.
#[cfg(test)]
pub(crate) fn names() -> Vec<String> {
    let mut all: Vec<String> = INDEX
        .values()
        .flat_map(HashMap::values)
        .map(BuiltinType::table_name)
        .collect();
    all.sort();
    all
}
