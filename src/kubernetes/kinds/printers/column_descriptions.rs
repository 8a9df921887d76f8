//! Descriptions of the columns of tables, written by `scripts/api-descriptions.py`.

use kueue_lab_apimachinery::description_table::DescriptionTable;
use kueue_lab_apimachinery::strategy::table_column::{CREATION_TIMESTAMP, OBJECT_NAME};

static TABLE: DescriptionTable = DescriptionTable::new(include_str!("column_descriptions.txt"));

/// The description of a column of a kind, such as `IP` of `Pod`; empty if it has none.
pub(super) fn description(kind: &str, column: &str) -> &'static str {
    match column {
        "Name" => OBJECT_NAME,
        "Age" | "Created At" => CREATION_TIMESTAMP,
        "Containers" => "Names of each container in the template.",
        "Images" => "Images referenced by each container in the template.",
        _ => TABLE.lookup(kind, column).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin_resources::builtin_api_resources;
    use crate::printers::printer_of;

    #[test]
    fn every_line_is_an_object_of_descriptions() {
        assert_eq!(TABLE.invalid_lines(), Vec::<&str>::new());
    }

    #[test]
    fn every_column_of_a_built_in_kind_has_a_description() {
        let mut missing = Vec::new();
        for kind in builtin_api_resources() {
            let columns = printer_of(&kind.group, &kind.kind).columns(&kind.kind);
            let without = columns.into_iter().filter(|c| c.description.is_empty());
            missing.extend(without.map(|c| format!("{} {}", kind.kind, c.name)));
        }
        assert_eq!(missing, Vec::<String>::new());
    }
}
