//! Columns of a `Table` response.

/// One column of a `Table` response (`metav1.TableColumnDefinition`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Header, such as `Name`.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub column_type: &'static str,
    /// OpenAPI format; `name` for the name column, usually empty for others.
    pub format: &'static str,
    /// Description of the column.
    pub description: String,
    /// 0 for the default view; higher priorities only with `-o wide`.
    pub priority: i32,
}
