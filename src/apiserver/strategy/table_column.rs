//! Columns of a `Table` response.

/// One column of a `Table` answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Header, such as `Name`.
    pub name: String,
    /// `string`, `integer`, `boolean`, `date`, `integer_at`.
    pub column_type: &'static str,
    /// `validate_name` for the name column, else empty.
    pub format: &'static str,
    /// What the column shows.
    pub description: String,
    /// 0 is always shown, 1 only with `-o wide`.
    pub priority: i32,
}
