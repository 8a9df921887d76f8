//! [`AllocationError`]: a claim or a class that is not valid.

use super::device_pools::DeviceId;
use super::device_selection::MAX_RESULTS;
use kueue_lab_cel::{CompileSelectorError, SelectorError};
use kueue_lab_controller_runtime::ObjectKey;

/// Why devices of a node cannot be allocated, other than that they do not suffice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AllocationError {
    /// A constraint without a known type.
    #[error("claim {claim}, constraint #{index}: empty constraint (unsupported constraint type?)")]
    EmptyConstraint {
        /// The claim.
        claim: ObjectKey,
        /// The index of the constraint.
        index: usize,
    },
    /// A request that is not valid.
    #[error("claim {claim}, request {request}: {problem}")]
    Request {
        /// The claim.
        claim: ObjectKey,
        /// The request.
        request: String,
        /// What is wrong.
        problem: Box<RequestProblem>,
    },
    /// The claim requests too many devices.
    #[error(
        "claim {claim}: number of requested devices {count} exceeds the claim limit of {max}",
        max = MAX_RESULTS
    )]
    TooManyDevices {
        /// The claim.
        claim: ObjectKey,
        /// The number.
        count: usize,
    },
    /// A selector that does not compile.
    #[error("{selector}: CEL compile error: {source}")]
    Compile {
        /// The place of the selector.
        selector: String,
        /// Why.
        source: CompileSelectorError,
    },
    /// A selector that cannot be evaluated.
    #[error("{selector} on device {device}: CEL runtime error: {source}")]
    Evaluate {
        /// The place of the selector.
        selector: String,
        /// The device.
        device: DeviceId,
        /// Why.
        source: Box<SelectorError>,
    },
    /// A slice with a node selector of several terms.
    #[error(
        "create NodeSelector for claim {claim}: unsupported ResourceSlice.NodeSelector with {terms} terms"
    )]
    NodeSelectorTerms {
        /// The name of the claim.
        claim: String,
        /// The number of terms.
        terms: usize,
    },
}

/// What is wrong with a request of a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestProblem {
    /// It has neither of the known fields.
    #[error("missing device class name (unsupported request type?)")]
    NoClass,
    /// The class with this name does not exist.
    #[error("could not retrieve device class {0}: deviceclass.resource.k8s.io {0:?} not found")]
    ClassNotFound(String),
    /// The allocation mode is not known.
    #[error("unsupported count mode {0}")]
    CountMode(String),
    /// All devices are requested of a pool without all of its slices.
    #[error("asks for all devices, but resource pool {driver}/{pool} is currently being updated")]
    IncompletePool {
        /// The driver.
        driver: String,
        /// The pool.
        pool: String,
    },
    /// All devices are requested, and this one does not satisfy a constraint.
    #[error("cannot add device {0} because a claim constraint would not be satisfied")]
    Constraint(DeviceId),
}
