//! Reading one object.

use super::call::Call;
use super::reply::Reply;
use crate::status::ApiError;

/// GET of a named object.
pub(super) fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let name = &call.path.name;
    let object = call
        .space()?
        .get(&call.key(name))
        .ok_or_else(|| call.not_found(name))?;
    call.view.show(200, &object)
}
