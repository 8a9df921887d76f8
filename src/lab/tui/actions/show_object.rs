//! Pages with the object of a row.

use jiff::Timestamp;

use super::{Action, navigation};
use crate::backend::{Backend, OperationError};
use crate::fetch::fetch_object;
use crate::model::ObjectRef;
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{PageKind, State, UnavailableReason, requires};
use crate::views;

/// Shows the object of the current row as `kubectl describe` does.
#[derive(Debug)]
pub(crate) struct Describe;

impl Action for Describe {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_open(state, PageKind::Describe)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        open(state, PageKind::Describe)
    }
}

/// Shows the object of the current row as YAML.
#[derive(Debug)]
pub(crate) struct ShowYaml;

impl Action for ShowYaml {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        can_open(state, PageKind::Yaml)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        open(state, PageKind::Yaml)
    }
}

/// The API object of the current row.
fn object(state: &State) -> Result<ObjectRef, UnavailableReason> {
    let row = state.current_row();
    row.and_then(|row| views::of_row(row).object(state, row))
        .ok_or_else(|| UnavailableReason::because("this row has no API object"))
}

/// The row has an object, and its page of this kind is not open.
fn can_open(state: &State, kind: fn(ObjectRef) -> PageKind) -> Result<(), UnavailableReason> {
    let kind = kind(object(state)?);
    requires::other_page(state, &kind)
}

fn open(state: &mut State, kind: fn(ObjectRef) -> PageKind) -> Vec<Cmd> {
    let Ok(object) = object(state) else {
        return Vec::new();
    };
    navigation::open_row_page(state, kind(object))
}

/// Fetches an object for a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FetchObject {
    /// The page.
    pub(crate) page: PageKind,
    /// The object.
    pub(crate) object: ObjectRef,
}

impl Operation for FetchObject {
    async fn run(self, backend: Backend, now: Timestamp) -> Msg {
        let fetched = fetch_object(backend.client, self.object, now).await;
        let text = match (fetched, &self.page) {
            (Ok(fetched), PageKind::Yaml(_)) => Ok(fetched.yaml),
            (Ok(fetched), _) => Ok(fetched.description),
            (Err(error), _) => Err(OperationError(error.to_string())),
        };
        Msg::PageLoaded(self.page, text)
    }
}
