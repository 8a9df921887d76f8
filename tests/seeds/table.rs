//! [`Table`]: the output of `kubectl get`.

use serde_json::Value;

/// The output of `kubectl get`: headings and rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The columns of a `meta.k8s.io` Table that kubectl prints; `wide` for `-o wide`.
    pub(crate) fn new(table: &Value, wide: bool) -> Self {
        let definitions = table["columnDefinitions"].as_array().unwrap();
        let printed = |i: &usize| wide || definitions[*i]["priority"].as_i64() == Some(0);
        let printed: Vec<usize> = (0..definitions.len()).filter(printed).collect();
        let heading = |i: &usize| definitions[*i]["name"].as_str().unwrap().to_uppercase();
        let cell = |cell: &Value| match cell {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let row = |row: &Value| {
            let cells = &row["cells"];
            printed.iter().map(|i| cell(&cells[*i])).collect()
        };
        let rows = table["rows"].as_array().into_iter().flatten();
        Self {
            headings: printed.iter().map(heading).collect(),
            rows: rows.map(row).collect(),
        }
    }

    /// The cells of a row under these headings.
    pub(crate) fn cells<const N: usize>(&self, row: usize, headings: [&str; N]) -> [&str; N] {
        headings.map(|heading| {
            let column = self.headings.iter().position(|h| h == heading);
            let column = column.unwrap_or_else(|| panic!("no {heading} in {self:?}"));
            self.rows[row][column].as_str()
        })
    }

    /// The row whose NAME starts with `prefix`.
    pub(crate) fn row_of(&self, prefix: &str) -> Option<usize> {
        self.rows.iter().position(|row| row[0].starts_with(prefix))
    }
}

/// Whether a cell is an age, such as `22s` or `6m43s`.
pub(crate) fn is_age(cell: &str) -> bool {
    let unit = |c: char| matches!(c, 's' | 'm' | 'h' | 'd');
    cell.ends_with(unit) && cell.chars().all(|c| c.is_ascii_digit() || unit(c))
}
