//! Signals to the process.

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// To end: SIGINT, SIGTERM, SIGHUP.
    Terminate,
    /// To stop until SIGCONT: SIGTSTP.
    Suspend,
}

/// The signals of [`SignalRequest`].
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: [tokio::signal::unix::Signal; 3],
    #[cfg(unix)]
    suspend: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let suspend = rustix::process::Signal::TSTP.as_raw();
        Ok(Self {
            terminate: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            ],
            suspend: signal(SignalKind::from_raw(suspend))?,
        })
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next signal.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) -> SignalRequest {
        let [a, b, c] = &mut self.terminate;
        tokio::select! {
            _ = a.recv() => SignalRequest::Terminate,
            _ = b.recv() => SignalRequest::Terminate,
            _ = c.recv() => SignalRequest::Terminate,
            _ = self.suspend.recv() => SignalRequest::Suspend,
        }
    }

    /// Waits for the next signal.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> SignalRequest {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        SignalRequest::Terminate
    }
}
