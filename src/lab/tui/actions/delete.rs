//! Deleting the object of a row.

use jiff::Timestamp;
use kube::Client;
use kube::api::DeleteParams;
use kueue_lab_controller_runtime::api_errors::{error_message, is_not_found};

use super::Action;
use crate::backend::{Backend, OperationError};
use crate::fetch::api_for;
use crate::model::{ManagedJobRef, ObjectRef};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Confirmation, Dialog, OnConfirm, State, UnavailableReason, requires};
use crate::views::{self, Deletion};

/// The name of the embedded cluster, which confirmations do not mention.
const EMBEDDED: &str = "embedded";
/// The most objects that the confirmation names.
const MAX_NAMES: usize = 4;

/// Deletes the object of the current row, after confirmation.
#[derive(Debug)]
pub(crate) struct Delete;

impl Action for Delete {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::writable(state, "delete")?;
        match deletion(state)?.objects.is_empty() {
            true => Err(UnavailableReason::because("there is nothing to delete")),
            false => Ok(()),
        }
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let Ok(Deletion {
            objects,
            note,
            managed_job,
        }) = deletion(state)
        else {
            return Vec::new();
        };
        let (title, mut text) = match &managed_job {
            Some(ManagedJobRef::Object { title, .. }) => {
                ("Cancel", vec![format!("Cancel {title}?")])
            }
            _ => ("Delete", delete_questions(&objects)),
        };
        text.push(note);
        if state.env.cluster != EMBEDDED {
            text.push(format!("Cluster: {}", state.env.cluster));
        }
        state.ui.dialog = Some(Dialog::Confirm(Confirmation {
            title,
            text,
            on_confirm: match managed_job {
                Some(job) => OnConfirm::CancelManagedJob(job),
                None => OnConfirm::Delete(objects),
            },
        }));
        Vec::new()
    }
}

/// A question for each object, up to a limit.
fn delete_questions(objects: &[ObjectRef]) -> Vec<String> {
    let names = objects.iter().take(MAX_NAMES);
    let mut text: Vec<String> = names.map(|o| format!("Delete {o}?")).collect();
    if objects.len() > MAX_NAMES {
        text.push(format!("and {} more", objects.len() - MAX_NAMES));
    }
    text
}

fn deletion(state: &State) -> Result<Deletion, UnavailableReason> {
    let row = requires::row(state)?;
    views::of_row(row).deletion(state, row)
}

/// Deletes objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeleteObjects(pub(crate) Vec<ObjectRef>);

impl Operation for DeleteObjects {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(delete_objects(&backend.client, &self.0).await)
    }
}

/// Deletes objects; returns one sentence about the result.
///
/// # Errors
/// The API server rejects a request.
pub(super) async fn delete_objects(
    client: &Client,
    objects: &[ObjectRef],
) -> Result<String, OperationError> {
    let mut last = String::new();
    for object in objects {
        last = delete_object(client, object).await?;
    }
    Ok(match objects.len() {
        1 => last,
        n => format!("deleted {n} objects"),
    })
}

/// Deletes an object with background propagation; returns one sentence about the result.
///
/// # Errors
/// The API server rejects the request.
pub async fn delete_object(client: &Client, object: &ObjectRef) -> Result<String, OperationError> {
    let failed = |reason: String| OperationError(format!("cannot delete {object}: {reason}"));
    let api = api_for(client, object).await;
    let api = api.map_err(|error| failed(error.to_string()))?;
    let params = DeleteParams::background();
    match api.delete(&object.key.name, &params).await {
        Ok(_) => Ok(format!("deleted {object}")),
        Err(error) if is_not_found(&error) => Ok(format!("{object} is gone")),
        Err(error) => Err(failed(error_message(&error))),
    }
}
