//! What `kubectl get [-o wide]` shows of each built-in kind: columns and cells, as a real API server
//! prints them.

mod admission;
mod batch;
mod cluster;
mod core;
mod network;
pub mod parts;
mod pod;
mod service;
mod storage;
mod volume;
mod workload;

use jiff::Timestamp;
use serde_json::Value;

use super::value::Look;
use crate::kind::Column;
use parts::age_cell;

/// The table of one kind.
#[derive(Clone, Copy)]
pub struct Table {
    /// Header, type, priority.
    columns: &'static [(&'static str, &'static str, i32)],
    /// Cells of one object in the order of the columns.
    pub cells: fn(&Value, Timestamp) -> Vec<Value>,
}

impl Table {
    /// The columns as the API describes them.
    pub fn columns(&self) -> Vec<Column> {
        let column = |&(name, kind, priority): &(&str, &'static str, i32)| Column {
            name: name.into(),
            kind,
            format: if name == "Name" { "name" } else { "" },
            description: String::new(),
            priority,
        };
        self.columns.iter().map(column).collect()
    }
}

const NAME: (&str, &str, i32) = ("Name", "string", 0);
const AGE: (&str, &str, i32) = ("Age", "string", 0);

/// Kinds without columns of their own: name and time of creation.
pub const DEFAULT: Table = Table {
    columns: &[NAME, ("Created At", "date", 0)],
    cells: |o, _| vec![o.name().into(), o.at("/metadata/creationTimestamp").clone()],
};

/// Name and age.
const NAME_AND_AGE: Table = Table {
    columns: &[NAME, AGE],
    cells: |o, now| vec![o.name().into(), age_cell(o, now)],
};

/// The table of a built-in kind.
pub fn of(group: &str, kind: &str) -> Table {
    match (group, kind) {
        ("", "Pod") => pod::POD,
        ("", _) | ("events.k8s.io", _) => core::of(kind),
        ("apps" | "policy" | "autoscaling", _) => workload::of(kind),
        ("batch", _) => batch::of(kind),
        ("networking.k8s.io" | "discovery.k8s.io", _) => network::of(kind),
        ("storage.k8s.io", _) => storage::of(kind),
        ("admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io", _) => admission::of(kind),
        _ => cluster::of(kind),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::registry::builtin;

    #[test]
    fn every_table_has_a_cell_for_each_column_even_for_an_empty_object() {
        let now = Timestamp::UNIX_EPOCH;
        for kind in builtin() {
            let table = of(&kind.group, &kind.kind);
            let cells = (table.cells)(&json!({}), now);
            assert_eq!(table.columns().len(), cells.len(), "{kind:?}");
            let cells = (table.cells)(&json!({"spec": 3, "status": [], "metadata": "x"}), now);
            assert_eq!(table.columns().len(), cells.len(), "{kind:?}");
        }
    }
}
