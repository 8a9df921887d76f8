//! Printer columns of custom resources.

use jiff::Timestamp;
use serde_json::Value;

use super::jsonpath::JsonPath;
use kueue_lab_apimachinery::schema::go_format::go_text;
use kueue_lab_apimachinery::strategy::table_cells;
use kueue_lab_apimachinery::strategy::table_column::{CREATION_TIMESTAMP, TableColumn};

/// One column with the JSONPath of its value.
pub(super) struct PrinterColumn {
    pub(super) column: TableColumn,
    path: Option<JsonPath>,
}

/// The columns after `Name`; a version that declares none has `Age`.
pub(super) fn printer_columns(declared: &[(TableColumn, String)]) -> Vec<PrinterColumn> {
    if declared.is_empty() {
        return vec![PrinterColumn {
            column: TableColumn {
                name: "Age".into(),
                column_type: "date",
                format: "",
                description: CREATION_TIMESTAMP.into(),
                priority: 0,
            },
            path: JsonPath::parse(".metadata.creationTimestamp").ok(),
        }];
    }
    let printer = |(column, path): &(TableColumn, String)| PrinterColumn {
        column: column.clone(),
        path: JsonPath::parse(path).ok(),
    };
    declared.iter().map(printer).collect()
}

/// Parses an entry of `additionalPrinterColumns`: the column and the JSONPath of its value.
pub fn parse_printer_column(column: &Value) -> (TableColumn, String) {
    let text = |name: &str| column.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = text("jsonPath");
    let description = match text("description") {
        "" => format!("Custom resource definition column (in JSONPath format): {path}"),
        given => given.into(),
    };
    let priority = column.get("priority").and_then(Value::as_i64);
    let column = TableColumn {
        name: text("name").into(),
        column_type: kind(text("type")),
        format: format(text("format")),
        description,
        priority: priority.and_then(|p| i32::try_from(p).ok()).unwrap_or(0),
    };
    (column, path.into())
}

fn kind(name: &str) -> &'static str {
    ["integer", "number", "boolean", "date"]
        .into_iter()
        .find(|k| *k == name)
        .unwrap_or("string")
}

/// The OpenAPI format of a column; empty if it is not known.
fn format(name: &str) -> &'static str {
    const KNOWN: [&str; 9] = [
        "int32",
        "int64",
        "float",
        "double",
        "byte",
        "date",
        "date-time",
        "password",
        "name",
    ];
    KNOWN.into_iter().find(|k| *k == name).unwrap_or_default()
}

impl PrinterColumn {
    /// The cell of one object.
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self
            .path
            .as_ref()
            .map(|p| p.find(object))
            .unwrap_or_default();
        let Some(value) = found.first() else {
            return Value::Null;
        };
        match (self.column.column_type, value) {
            ("string", value) => match value {
                // Lists and maps are printed as JSON.
                Value::Array(_) | Value::Object(_) => value.to_string().into(),
                Value::Null => "<nil>".into(),
                scalar => go_text(scalar).into(),
            },
            ("integer", Value::Number(n)) => match (n.as_i64(), n.as_f64()) {
                (Some(i), _) => i.into(),
                #[allow(clippy::cast_possible_truncation, reason = "the fraction is not shown")]
                (None, Some(f)) => (f as i64).into(),
                _ => Value::Null,
            },
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*value).clone(),
            ("date", Value::String(text)) => match text.parse::<Timestamp>() {
                Ok(_) => table_cells::translate_timestamp_since(value, now).into(),
                Err(_) => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}
