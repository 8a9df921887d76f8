//! Table printer of a kind: columns and cells, as in `pkg/printers/internalversion`.

use jiff::Timestamp;
use serde_json::Value;

use super::column_descriptions::description;
use super::{
    admissionregistration, batch, core, networking, other_api_groups, pod, storage, workload,
};
use kueue_lab_apimachinery::strategy::table_cells::age_cell;
use kueue_lab_apimachinery::strategy::table_column::TableColumn;
use kueue_lab_json::ValueExt;

/// Table printer of one kind.
#[derive(Clone, Copy)]
pub(crate) struct TablePrinter {
    /// Columns: name, type, priority.
    pub(super) columns: &'static [(&'static str, &'static str, i32)],
    /// Returns the cells of an object in column order.
    pub cells: fn(&Value, Timestamp) -> Vec<Value>,
}

impl TablePrinter {
    /// Returns the column definitions of the `Table` API for a kind.
    pub(crate) fn columns(&self, kind: &str) -> Vec<TableColumn> {
        let column = |&(name, column_type, priority): &(&str, &'static str, i32)| TableColumn {
            name: name.into(),
            column_type,
            format: if name == "Name" { "name" } else { "" },
            description: description(kind, name).into(),
            priority,
        };
        self.columns.iter().map(column).collect()
    }
}

pub(crate) const NAME: (&str, &str, i32) = ("Name", "string", 0);

pub(crate) const AGE: (&str, &str, i32) = ("Age", "string", 0);

/// Default printer for kinds without their own: name and creation timestamp.
pub(crate) const DEFAULT: TablePrinter = TablePrinter {
    columns: &[NAME, ("Created At", "date", 0)],
    cells: |o, _| vec![o.name().into(), o.at("/metadata/creationTimestamp").clone()],
};

/// Printer with the columns name and age.
pub(crate) const NAME_AND_AGE: TablePrinter = TablePrinter {
    columns: &[NAME, AGE],
    cells: |o, now| vec![o.name().into(), age_cell(o, now)],
};

/// Returns the printer of a built-in kind.
pub(crate) fn printer_of(group: &str, kind: &str) -> TablePrinter {
    match (group, kind) {
        ("", "Pod") => pod::POD,
        ("", _) | ("events.k8s.io", _) => core::printer_of(kind),
        ("apps" | "policy" | "autoscaling", _) => workload::printer_of(kind),
        ("batch", _) => batch::printer_of(kind),
        ("networking.k8s.io" | "discovery.k8s.io", _) => networking::printer_of(kind),
        ("storage.k8s.io", _) => storage::printer_of(kind),
        ("admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io", _) => {
            admissionregistration::printer_of(kind)
        }
        _ => other_api_groups::printer_of(kind),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin_resources::builtin_api_resources;

    #[test]
    fn every_table_has_a_cell_for_each_column_even_for_an_empty_object() {
        let now = Timestamp::UNIX_EPOCH;
        for kind in builtin_api_resources() {
            let table = printer_of(&kind.group, &kind.kind);
            let cells = (table.cells)(&json!({}), now);
            assert_eq!(table.columns(&kind.kind).len(), cells.len(), "{kind:?}");
            let cells = (table.cells)(&json!({"spec": 3, "status": [], "metadata": "x"}), now);
            assert_eq!(table.columns(&kind.kind).len(), cells.len(), "{kind:?}");
        }
    }
}
