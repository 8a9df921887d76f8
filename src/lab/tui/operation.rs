//! Work that an action starts beyond the state: requests to the cluster and to its lab.

use std::any::Any;
use std::fmt::{self, Debug};
use std::future::Future;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::backend::Backend;
use crate::msg::Msg;

/// Work that runs in the background and ends with a message.
pub(crate) trait Operation: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Does the work; `now` is the lab time at its start.
    fn run(self, backend: Backend, now: Timestamp) -> impl Future<Output = Msg> + Send;
}

/// An operation of any type.
pub struct AnyOperation(Box<dyn ErasedOperation>);

trait ErasedOperation: Debug + Send + Sync {
    fn run(self: Box<Self>, backend: Backend, now: Timestamp) -> BoxFuture<'static, Msg>;
    fn clone_boxed(&self) -> Box<dyn ErasedOperation>;
    fn equals(&self, other: &dyn ErasedOperation) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<O: Operation> ErasedOperation for O {
    fn run(self: Box<Self>, backend: Backend, now: Timestamp) -> BoxFuture<'static, Msg> {
        Operation::run(*self, backend, now).boxed()
    }

    fn clone_boxed(&self) -> Box<dyn ErasedOperation> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn ErasedOperation) -> bool {
        other.as_any().downcast_ref::<O>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl AnyOperation {
    pub(crate) fn new(operation: impl Operation) -> Self {
        Self(Box::new(operation))
    }

    /// Does the work.
    pub(crate) fn run(self, backend: Backend, now: Timestamp) -> BoxFuture<'static, Msg> {
        self.0.run(backend, now)
    }

    /// The operation, if it is an `O`.
    #[cfg(test)]
    pub(crate) fn get<O: Operation>(&self) -> Option<&O> {
        self.0.as_any().downcast_ref()
    }
}

impl Clone for AnyOperation {
    fn clone(&self) -> Self {
        Self(self.0.clone_boxed())
    }
}

impl Debug for AnyOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for AnyOperation {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}
