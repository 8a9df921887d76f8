//! The query parameters of operations.

use serde_json::{Value, json};

use super::descriptions;

/// A query parameter, a field of the options of a request.
#[derive(Clone, Copy)]
pub(super) struct QueryParameter {
    /// The type of the options, such as `ListOptions`.
    options: &'static str,
    name: &'static str,
    /// The OpenAPI type.
    data_type: &'static str,
}

/// The parameters of list and watch.
pub(super) const LIST: &[QueryParameter] = &[
    of_list("allowWatchBookmarks", "boolean"),
    of_list("continue", "string"),
    of_list("fieldSelector", "string"),
    of_list("labelSelector", "string"),
    of_list("limit", "integer"),
    of_list("resourceVersion", "string"),
    of_list("resourceVersionMatch", "string"),
    of_list("sendInitialEvents", "boolean"),
    of_list("shardSelector", "string"),
    of_list("timeoutSeconds", "integer"),
    of_list("watch", "boolean"),
];
/// The parameters of delete.
pub(super) const DELETE: &[QueryParameter] = &[
    of_delete("dryRun", "string"),
    of_delete("gracePeriodSeconds", "integer"),
    of_delete(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
    ),
    of_delete("orphanDependents", "boolean"),
    of_delete("propagationPolicy", "string"),
];

const fn of_list(name: &'static str, data_type: &'static str) -> QueryParameter {
    parameter("ListOptions", name, data_type)
}

const fn of_delete(name: &'static str, data_type: &'static str) -> QueryParameter {
    parameter("DeleteOptions", name, data_type)
}

const fn parameter(
    options: &'static str,
    name: &'static str,
    data_type: &'static str,
) -> QueryParameter {
    QueryParameter {
        options,
        name,
        data_type,
    }
}

/// The parameters of a create or update with options of this type.
pub(super) fn write(options: &'static str) -> Vec<QueryParameter> {
    let names = ["dryRun", "fieldManager", "fieldValidation"];
    names
        .map(|name| parameter(options, name, "string"))
        .to_vec()
}

/// The parameters of patch.
pub(super) fn patch() -> Vec<QueryParameter> {
    let mut parameters = write("PatchOptions");
    parameters.push(parameter("PatchOptions", "force", "boolean"));
    parameters
}

/// The parameters of deletecollection: those of delete, and those that select objects.
pub(super) fn delete_collection() -> Vec<QueryParameter> {
    let selecting = LIST
        .iter()
        .filter(|p| !matches!(p.name, "watch" | "allowWatchBookmarks"));
    DELETE.iter().chain(selecting).copied().collect()
}

impl QueryParameter {
    /// The OpenAPI parameter.
    pub(super) fn to_value(self) -> Value {
        let description = descriptions::lookup(self.options, self.name).unwrap_or_default();
        query(self.name, self.data_type, description)
    }
}

/// The `pretty` parameter, common to all paths.
pub(super) fn pretty() -> Value {
    let description = "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).";
    query("pretty", "string", description)
}

fn query(name: &str, data_type: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": data_type, "uniqueItems": true},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_description() {
        let mut all = delete_collection();
        all.extend(LIST.iter().copied());
        all.extend(write("CreateOptions"));
        all.extend(write("UpdateOptions"));
        all.extend(patch());
        for parameter in all {
            let (options, name) = (parameter.options, parameter.name);
            assert!(
                descriptions::lookup(options, name).is_some(),
                "{options} {name}"
            );
        }
    }
}
