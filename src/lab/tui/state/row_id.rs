//! A row of any view: lists, pages and history hold rows of different views, so the type of the
//! row is erased here.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::ViewId;

/// Identifies a row of a view.
#[derive(Clone, Debug)]
pub(crate) struct RowId {
    view: ViewId,
    row: Arc<dyn AnyRow>,
}

trait AnyRow: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn AnyRow) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<R: Eq + Debug + Send + Sync + 'static> AnyRow for R {
    fn equals(&self, other: &dyn AnyRow) -> bool {
        other.as_any().downcast_ref::<R>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl PartialEq for RowId {
    fn eq(&self, other: &Self) -> bool {
        self.view == other.view && self.row.equals(&*other.row)
    }
}

impl Eq for RowId {}

impl RowId {
    /// The identifier of a row of a view.
    pub(crate) fn new<R: Eq + Debug + Send + Sync + 'static>(view: ViewId, row: R) -> Self {
        Self {
            view,
            row: Arc::new(row),
        }
    }

    /// The view of the row.
    pub(crate) fn view(&self) -> ViewId {
        self.view
    }

    /// The row, if it is of type `R`.
    pub(crate) fn get<R: 'static>(&self) -> Option<&R> {
        (*self.row).as_any().downcast_ref()
    }
}
