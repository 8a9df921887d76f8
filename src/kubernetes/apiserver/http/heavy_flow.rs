//! [`HeavyFlow`]: the turns of one user in expensive computations.

use kueue_lab_blocking::HeavyWork;

use super::secure_serving::ConnectionContext;

/// The expensive computations of the requests of one user.
#[derive(Clone, Debug)]
pub(super) struct HeavyFlow {
    work: HeavyWork,
    user: String,
}

impl HeavyFlow {
    pub(super) fn new(context: &ConnectionContext, is_exempt: bool, user: String) -> Self {
        let work = match is_exempt {
            true => &context.exempt_heavy_work,
            false => &context.heavy_work,
        };
        Self {
            work: work.clone(),
            user,
        }
    }

    /// The result of a future, which computes in the turn of the user.
    pub(super) async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.work.run(&self.user, future).await
    }
}
