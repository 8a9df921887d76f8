//! [`TestCase`]: a test case and its environment.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::cluster_under_test::{ClusterUnderTest, Lab};
use crate::test_namespace::TestNamespace;

/// The environment of a test case on the shared lab.
pub(crate) struct SharedContext<'a> {
    pub ns: &'a TestNamespace,
    pub cluster: &'a ClusterUnderTest,
    pub lab: &'a Lab,
}

/// The environment of a test case that starts and stops labs itself.
pub(crate) struct ExclusiveContext<'a> {
    pub ns: &'a TestNamespace,
    pub cluster: &'a ClusterUnderTest,
}

/// How a test case runs.
#[derive(Clone, Copy)]
pub(crate) enum TestCase {
    /// On the shared lab, concurrently with others.
    Shared(for<'a> fn(SharedContext<'a>) -> BoxFuture<'a, ()>),
    /// Alone, on a cluster without a lab.
    Exclusive(for<'a> fn(ExclusiveContext<'a>) -> BoxFuture<'a, ()>),
}

impl TestCase {
    /// Runs the test case and cleans up, also after a failure.
    pub(crate) async fn run(self, name: &str, cluster: &ClusterUnderTest) {
        match self {
            Self::Shared(case) => {
                let lab = cluster.lab().await;
                let lab = lab.as_ref().expect("the lab is started");
                let ns = TestNamespace::new(&lab.client, name).await;
                let context = SharedContext {
                    ns: &ns,
                    cluster,
                    lab,
                };
                let result = AssertUnwindSafe(case(context)).catch_unwind().await;
                if result.is_err() {
                    eprintln!("{name}: objects:\n{}", ns.dump().await);
                    eprintln!("{name}: the lab printed:\n{}", lab.running.log());
                }
                let cleared = AssertUnwindSafe(ns.clean_up()).catch_unwind().await;
                result.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
            Self::Exclusive(case) => {
                let mut shared = cluster.without_lab().await;
                let ns = TestNamespace::new(&cluster.existing().await.client, name).await;
                let context = ExclusiveContext { ns: &ns, cluster };
                let result = AssertUnwindSafe(case(context)).catch_unwind().await;
                if result.is_err() {
                    eprintln!("{name}: objects:\n{}", ns.dump().await);
                }
                let cleared = async {
                    // A lab has to remove finalizers.
                    let lab = shared.insert(cluster.start().await);
                    ns.clean_up().await;
                    lab
                };
                let cleared = AssertUnwindSafe(cleared).catch_unwind().await.map(drop);
                result.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
        }
    }
}
