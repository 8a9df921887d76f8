//! Replacing an object.

use super::call::Call;
use super::change::change;
use super::input;
use super::options::WriteOptions;
use super::reply::Reply;
use crate::status::ApiError;

/// PUT of a named object.
pub(super) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = WriteOptions::of(call, "UpdateOptions")?;
    let object = input::object(call, options.validation)?;
    input::check_api_version(call, &object)?;
    let may_create = call.served.kind.behaviour.creates_on_update();
    let transform = |_: Option<&serde_json::Value>| Ok(object.clone());
    let (written, created) =
        change(call, &options, &call.path.name, may_create, &transform).await?;
    written.show(call, if created { 201 } else { 200 })
}
