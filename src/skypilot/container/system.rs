//! The system of a container's processes outside of its file system.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use jiff::Timestamp;

/// A fake GPU of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Product name, such as `NVIDIA A100-SXM4-80GB`.
    pub name: String,
    /// UUID, such as `GPU-...`.
    pub uuid: String,
    /// Memory, in MiB.
    pub memory_mib: u64,
}

/// The main process of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerProcess {
    /// The command line.
    pub command: Vec<String>,
    /// When it started.
    pub started: Timestamp,
}

/// The error of a request without a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The host name is unknown.
    #[error("Could not resolve host: {0}")]
    UnknownHost(String),
    /// The connection is refused, or there is no route.
    #[error("{0}")]
    Connect(String),
    /// The connection ended before the response.
    #[error("Empty reply from server")]
    EmptyReply,
    /// The certificate of the server is not signed by an authority of the container.
    #[error("SSL certificate problem: unable to get local issuer certificate")]
    UnknownIssuer,
    /// The certificate of the server is for other names.
    #[error("SSL: no alternative certificate subject name matches target host name '{0}'")]
    WrongName(String),
    /// The certificate authorities of the command are no certificates.
    #[error("error setting certificate verify locations")]
    InvalidAuthorities,
    /// TLS is not served at this address.
    #[error("{0}")]
    Tls(String),
}

/// In the extensions of a request: the certificate of the server is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsecureTls;

/// In the extensions of a request: the certificate authorities (PEM) that the server is verified
/// against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateAuthorities(pub Bytes);

/// The system of a container.
#[async_trait]
pub trait System: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, time: Duration);

    /// Sends an HTTP request; its URI has a scheme and an authority.
    ///
    /// # Errors
    /// There is no response.
    async fn request(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError>;

    /// The addresses of a host name.
    async fn resolve(&self, host: &str) -> Vec<IpAddr>;

    /// The GPUs of the container.
    fn gpus(&self) -> Vec<Gpu>;

    /// The number of processors.
    fn cpus(&self) -> u64;

    /// The main process.
    fn main_process(&self) -> ContainerProcess;

    /// Sends a signal to the main process.
    fn signal(&self, signal: i32);

    /// A random number.
    fn random(&self) -> u64;

    /// Runs a task beside the command that starts it.
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    /// Lets other tasks run.
    async fn yield_now(&self) {
        tokio::task::yield_now().await;
    }

    /// Whether the files of the image are those of the file system. Otherwise the image may have more: directories to
    /// change to, scripts and programs by their path, which are supposed to succeed without output.
    fn has_image(&self) -> bool {
        true
    }

    /// Whether a loop that starts its round `round`, counted from 0, is endless. Such a loop does not continue. `mark`
    /// is kept between the rounds of a loop; a loop in a background job has none.
    fn is_endless(&self, round: u32, mark: Option<&mut usize>) -> bool {
        let _ = (round, mark);
        false
    }
}
