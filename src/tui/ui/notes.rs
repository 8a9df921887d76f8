//! Messages for the person: results and errors. The latest stands in the message line until
//! something newer comes or it is dismissed; an error is not pushed away by a mere result. All stay
//! readable in a list.

use std::collections::VecDeque;

use jiff::Timestamp;

/// The most messages that are kept.
const MOST: usize = 200;

/// What sort of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something was done.
    Done,
    /// Something the person should know.
    Warning,
    /// Something went wrong.
    Error,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When, in lab time.
    pub at: Timestamp,
    /// What sort.
    pub tone: Tone,
    /// The message, clean.
    pub text: String,
    /// Whether it was dismissed.
    pub read: bool,
    /// What it is about, where later news about the same puts an end to it.
    pub about: Option<String>,
}

/// All messages.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    all: VecDeque<Note>,
}

impl Notes {
    /// Dismisses all messages about something, because there is news about it.
    pub fn settle(&mut self, about: &str) {
        for note in &mut self.all {
            if note.about.as_deref() == Some(about) {
                note.read = true;
            }
        }
    }

    /// Adds a message. Results that were not dismissed give way to it.
    pub fn add(&mut self, at: Timestamp, tone: Tone, text: impl Into<String>) {
        self.add_about(None, at, tone, text);
    }

    /// Adds a message about something that there will be news about.
    pub fn add_about(
        &mut self,
        about: Option<&str>,
        at: Timestamp,
        tone: Tone,
        text: impl Into<String>,
    ) {
        for note in &mut self.all {
            if note.tone == Tone::Done {
                note.read = true;
            }
        }
        self.all.push_back(Note {
            at,
            tone,
            text: text.into(),
            read: false,
            about: about.map(str::to_owned),
        });
        if self.all.len() > MOST {
            self.all.pop_front();
        }
    }

    /// Dismisses results from before a moment.
    pub fn fade(&mut self, before: Timestamp) {
        for note in &mut self.all {
            if note.tone == Tone::Done && note.at < before {
                note.read = true;
            }
        }
    }

    /// The message for the message line: the latest error that was not dismissed, or else the
    /// latest of the others; with how many more wait behind it.
    pub fn current(&self) -> Option<(&Note, usize)> {
        let waiting = self.all.iter().filter(|n| !n.read);
        let count = waiting.clone().count();
        let worst = waiting
            .rev()
            .max_by_key(|n| (n.tone == Tone::Error, n.at))?;
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
                note.read = true;
                true
            }
            None => false,
        }
    }

    /// All, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Note> {
        self.all.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_fade_and_errors_do_not() {
        let mut notes = Notes::default();
        let at = |s| Timestamp::from_second(s).unwrap();
        notes.add(at(1), Tone::Error, "broken");
        notes.add(at(2), Tone::Done, "done");
        notes.fade(at(2));
        assert_eq!(notes.current().map(|(_, more)| more), Some(1));
        notes.fade(at(3));
        assert_eq!(
            notes.current().map(|(n, more)| (n.text.as_str(), more)),
            Some(("broken", 0))
        );
    }

    #[test]
    fn news_puts_an_end_to_older_messages_about_the_same() {
        let mut notes = Notes::default();
        let at = Timestamp::default();
        notes.add_about(Some("a"), at, Tone::Error, "a is broken");
        notes.add_about(Some("b"), at, Tone::Error, "b is broken");
        notes.settle("a");
        assert_eq!(
            notes.current().map(|(n, more)| (n.text.as_str(), more)),
            Some(("b is broken", 0))
        );
    }

    #[test]
    fn an_error_stays_until_it_is_dismissed() {
        let mut notes = Notes::default();
        let at = |s| Timestamp::from_second(s).unwrap();
        notes.add(at(1), Tone::Error, "broken");
        notes.add(at(2), Tone::Done, "done");
        notes.add(at(3), Tone::Done, "done too");
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
