//! Notifications: results, warnings and errors. The message line shows the latest until a newer one
//! arrives or it is dismissed; results do not replace errors. All are kept in a list.

use std::collections::VecDeque;

use jiff::Timestamp;

/// The most notifications kept.
const MAX_NOTIFICATIONS: usize = 200;

/// The severity of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The result of an operation.
    Info,
    /// Why a key or command did nothing.
    Hint,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

impl Severity {
    /// Whether the notification is dismissed by a later one or by a key, once it was shown long enough.
    fn expires(self) -> bool {
        matches!(self, Self::Info | Self::Hint)
    }
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    /// Its lab time.
    pub at: Timestamp,
    /// Its severity.
    pub severity: Severity,
    /// The text, sanitized.
    pub text: String,
    /// Whether it was dismissed.
    pub dismissed: bool,
    /// Its subject; a later notification about it resolves this one.
    pub subject: Option<String>,
}

/// All notifications.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifications {
    all: VecDeque<Notification>,
}

impl Notifications {
    /// Dismisses all notifications about a subject.
    pub(crate) fn resolve(&mut self, about: &str) {
        for note in &mut self.all {
            if note.subject.as_deref() == Some(about) {
                note.dismissed = true;
            }
        }
    }

    /// Adds a notification and dismisses older results and hints.
    pub(crate) fn add(&mut self, at: Timestamp, severity: Severity, text: impl Into<String>) {
        self.add_for_subject(None, at, severity, text);
    }

    /// Adds a notification about a subject.
    pub(crate) fn add_for_subject(
        &mut self,
        about: Option<&str>,
        at: Timestamp,
        severity: Severity,
        text: impl Into<String>,
    ) {
        for note in &mut self.all {
            if note.severity.expires() {
                note.dismissed = true;
            }
        }
        self.all.push_back(Notification {
            at,
            severity,
            text: text.into(),
            dismissed: false,
            subject: about.map(str::to_owned),
        });
        if self.all.len() > MAX_NOTIFICATIONS {
            self.all.pop_front();
        }
    }

    /// Dismisses results and hints older than `before`.
    pub(crate) fn expire(&mut self, before: Timestamp) {
        for note in &mut self.all {
            if note.severity.expires() && note.at < before {
                note.dismissed = true;
            }
        }
    }

    /// The notification for the message line: the latest open error, or else the latest open one; and
    /// the number of other open ones.
    pub(crate) fn current(&self) -> Option<(&Notification, usize)> {
        let waiting = self.all.iter().filter(|n| !n.dismissed);
        let count = waiting.clone().count();
        let worst = waiting
            .rev()
            .max_by_key(|n| (n.severity == Severity::Error, n.at))?;
        Some((worst, count - 1))
    }

    /// Dismisses the notification in the message line; returns whether there was one.
    pub(crate) fn dismiss(&mut self) -> bool {
        let Some((current, _)) = self.current() else {
            return false;
        };
        let current = current.clone();
        match self.all.iter_mut().rev().find(|n| **n == current) {
            Some(note) => {
                note.dismissed = true;
                true
            }
            None => false,
        }
    }

    /// All notifications, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Notification> {
        self.all.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_expire_and_errors_do_not() {
        let mut notes = Notifications::default();
        let at = |s| Timestamp::from_second(s).unwrap();
        notes.add(at(1), Severity::Error, "broken");
        notes.add(at(2), Severity::Info, "done");
        notes.expire(at(2));
        assert_eq!(notes.current().map(|(_, more)| more), Some(1));
        notes.expire(at(3));
        assert_eq!(
            notes.current().map(|(n, more)| (n.text.as_str(), more)),
            Some(("broken", 0))
        );
    }

    #[test]
    fn a_subject_resolves_its_notifications() {
        let mut notes = Notifications::default();
        let at = Timestamp::default();
        notes.add_for_subject(Some("a"), at, Severity::Error, "a is broken");
        notes.add_for_subject(Some("b"), at, Severity::Error, "b is broken");
        notes.resolve("a");
        assert_eq!(
            notes.current().map(|(n, more)| (n.text.as_str(), more)),
            Some(("b is broken", 0))
        );
    }

    #[test]
    fn an_error_stays_until_it_is_dismissed() {
        let mut notes = Notifications::default();
        let at = |s| Timestamp::from_second(s).unwrap();
        notes.add(at(1), Severity::Error, "broken");
        notes.add(at(2), Severity::Info, "done");
        notes.add(at(3), Severity::Info, "done too");
        assert_eq!(
            notes.current().map(|(n, more)| (n.text.as_str(), more)),
            Some(("broken", 1))
        );
        assert!(notes.dismiss());
        assert_eq!(
            notes.current().map(|(n, _)| n.text.as_str()),
            Some("done too")
        );
        assert!(notes.dismiss());
        assert!(!notes.dismiss());
        assert_eq!(notes.newest_first().count(), 3);
    }
}
