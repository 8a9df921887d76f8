//! Messages for the person: results and errors. The latest stands in the message line until
//! something newer comes or it is dismissed; an error is not pushed away by a mere result. All stay
//! readable in a list.

use std::collections::VecDeque;

use jiff::Timestamp;

/// The most messages that are kept.
const MAX_NOTIFICATIONS: usize = 200;

/// What sort of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something was done.
    Info,
    /// Something the person should know.
    Warning,
    /// Something went wrong.
    Error,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// When, in lab time.
    pub at: Timestamp,
    /// What sort.
    pub severity: Severity,
    /// The message, clean.
    pub text: String,
    /// Whether it was dismissed.
    pub dismissed: bool,
    /// What it is about, where later news about the same puts an end to it.
    pub subject: Option<String>,
}

/// All messages.
#[derive(Clone, Debug, Default)]
pub struct Notifications {
    all: VecDeque<Notification>,
}

impl Notifications {
    /// Dismisses all messages about something, because there is news about it.
    pub fn resolve(&mut self, about: &str) {
        for note in &mut self.all {
            if note.subject.as_deref() == Some(about) {
                note.dismissed = true;
            }
        }
    }

    /// Adds a message. Results that were not dismissed give way to it.
    pub fn add(&mut self, at: Timestamp, tone: Severity, text: impl Into<String>) {
        self.add_for_subject(None, at, tone, text);
    }

    /// Adds a message about something that there will be news about.
    pub fn add_for_subject(
        &mut self,
        about: Option<&str>,
        at: Timestamp,
        tone: Severity,
        text: impl Into<String>,
    ) {
        for note in &mut self.all {
            if note.severity == Severity::Info {
                note.dismissed = true;
            }
        }
        self.all.push_back(Notification {
            at,
            severity: tone,
            text: text.into(),
            dismissed: false,
            subject: about.map(str::to_owned),
        });
        if self.all.len() > MAX_NOTIFICATIONS {
            self.all.pop_front();
        }
    }

    /// Dismisses results from before a moment.
    pub fn expire(&mut self, before: Timestamp) {
        for note in &mut self.all {
            if note.severity == Severity::Info && note.at < before {
                note.dismissed = true;
            }
        }
    }

    /// The message for the message line: the latest error that was not dismissed, or else the
    /// latest of the others; with how many more wait behind it.
    pub fn current(&self) -> Option<(&Notification, usize)> {
        let waiting = self.all.iter().filter(|n| !n.dismissed);
        let count = waiting.clone().count();
        let worst = waiting
            .rev()
            .max_by_key(|n| (n.severity == Severity::Error, n.at))?;
        Some((worst, count - 1))
    }

    /// Dismisses the message in the message line; says whether there was one.
    pub fn dismiss(&mut self) -> bool {
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

    /// All, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Notification> {
        self.all.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_fade_and_errors_do_not() {
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
    fn news_puts_an_end_to_older_messages_about_the_same() {
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
