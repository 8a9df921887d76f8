//! Says once that an API server does not answer, and once that it answers again, rather than what
//! became of each of the hundred requests meanwhile.

use std::sync::Arc;

use http::Request;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use super::context::causes;

/// Whether somebody answers, by the last request.
#[derive(Clone, Copy, Default)]
enum Contact {
    /// Nobody ever did. That is the error of whoever asked first, and not news.
    #[default]
    None,
    /// Somebody does.
    Held,
    /// Nobody does any more, since then.
    Lost(Instant),
}

/// What is news to people.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Lost,
    /// After so many seconds.
    Back(u64),
}

impl Contact {
    fn heard(&mut self, answered: bool) -> Option<News> {
        let (next, news) = match (*self, answered) {
            (Self::None, true) => (Self::Held, None),
            (Self::Held, false) => (Self::Lost(Instant::now()), Some(News::Lost)),
            (Self::Lost(since), true) => (Self::Held, Some(News::Back(since.elapsed().as_secs()))),
            (same, _) => (same, None),
        };
        *self = next;
        news
    }
}

/// A client that calls through `client`, and tells whether `server` answers it.
pub(super) fn client(server: String, client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let whose = Arc::new(server);
    let contact = Arc::new(Mutex::new(Contact::default()));
    let service = service_fn(move |request: Request<Body>| {
        let (client, whose, contact) = (client.clone(), whose.clone(), contact.clone());
        async move {
            let answer = client.send(request).await;
            let news = contact.lock().heard(answer.is_ok());
            match news {
                Some(News::Lost) => {
                    let why = answer.as_ref().err().map(|e| causes(e)).unwrap_or_default();
                    tracing::warn!("{whose} does not answer: {why}; trying again and again");
                }
                Some(News::Back(after)) => tracing::info!("{whose} answers again, after {after} s"),
                None => {}
            }
            answer.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_changes_are_news() {
        let mut contact = Contact::default();
        assert_eq!(contact.heard(false), None);
        assert_eq!(contact.heard(true), None);
        assert_eq!(contact.heard(false), Some(News::Lost));
        assert_eq!(contact.heard(false), None);
        tokio::time::advance(std::time::Duration::from_secs(12)).await;
        assert_eq!(contact.heard(true), Some(News::Back(12)));
        assert_eq!(contact.heard(true), None);
    }
}
