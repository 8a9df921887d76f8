//! Pages with the object of a row.

use jiff::Timestamp;

use super::{Action, UnavailableReason, requires};
use crate::backend::Backend;
use crate::fetch::fetch_object;
use crate::model::ObjectRef;
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::State;
use crate::ui_state::PageKind;
use crate::update::navigation;

/// Shows the object of the current row as `kubectl describe` does.
#[derive(Debug)]
pub(crate) struct Describe;

impl Action for Describe {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::object(state).map(|_| ())
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
        requires::object(state).map(|_| ())
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        open(state, PageKind::Yaml)
    }
}

fn open(state: &mut State, kind: fn(ObjectRef) -> PageKind) -> Vec<Cmd> {
    let Ok(object) = requires::object(state) else {
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
        let text = fetched.map(|fetched| match self.page {
            PageKind::Yaml(_) => fetched.yaml,
            _ => fetched.description,
        });
        Msg::PageLoaded(self.page, text)
    }
}
