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

/// The description of the column `Name`.
pub const OBJECT_NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// The description of the column `Age`.
pub const CREATION_TIMESTAMP: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
