//! The line discipline of a terminal: echo, erase, end of file and interrupt.

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

const INTERRUPT: u8 = 0x03;
const END_OF_FILE: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const ERASE: u8 = 0x7f;
const KILL: u8 = 0x15;
const ERASE_WORD: u8 = 0x17;
const ESCAPE: u8 = 0x1b;

/// Maximum length of a line, in bytes.
const LINE: usize = 4096;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: u16,
    /// Lines.
    pub lines: u16,
}

/// The program's side of a terminal.
pub(crate) struct Terminal {
    /// Lines that the user has completed.
    pub(crate) lines: mpsc::Receiver<Bytes>,
    /// Changes with every interrupt.
    pub(crate) interrupts: watch::Receiver<u64>,
}

/// The action of a key.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    /// A line is complete.
    Line(Vec<u8>),
    EndOfFile,
    Interrupt,
}

/// Edits the line that a user types.
#[derive(Default)]
pub(crate) struct LineDiscipline {
    line: Vec<u8>,
    escape: Escape,
}

/// A position in an escape sequence, such as that of an arrow key.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Started,
    Parameters,
}

impl LineDiscipline {
    /// Handles a key; appends its echo.
    fn key(&mut self, key: u8, echo: &mut Vec<u8>) -> Option<Action> {
        match (self.escape, key) {
            (Escape::None, ESCAPE) => {
                self.escape = Escape::Started;
                return None;
            }
            (Escape::Started, b'[' | b'O') => {
                self.escape = Escape::Parameters;
                return None;
            }
            (Escape::Started, _) | (Escape::Parameters, 0x40..) => {
                self.escape = Escape::None;
                return None;
            }
            (Escape::Parameters, _) => return None,
            (Escape::None, _) => {}
        }
        match key {
            b'\r' | b'\n' => {
                echo.extend_from_slice(b"\r\n");
                let mut line = std::mem::take(&mut self.line);
                line.push(b'\n');
                return Some(Action::Line(line));
            }
            INTERRUPT => {
                echo.extend_from_slice(b"^C");
                self.line.clear();
                return Some(Action::Interrupt);
            }
            END_OF_FILE if self.line.is_empty() => return Some(Action::EndOfFile),
            BACKSPACE | ERASE => self.erase(echo),
            KILL => {
                while !self.line.is_empty() {
                    self.erase(echo);
                }
            }
            ERASE_WORD => {
                while self.line.last() == Some(&b' ') {
                    self.erase(echo);
                }
                while self.line.last().is_some_and(|byte| *byte != b' ') {
                    self.erase(echo);
                }
            }
            b'\t' | 0x20.. if self.line.len() < LINE => {
                self.line.push(key);
                echo.push(key);
            }
            _ => {}
        }
        None
    }

    /// Erases the last character.
    fn erase(&mut self, echo: &mut Vec<u8>) {
        // The continuation bytes of UTF-8 belong to the character before them.
        while let Some(byte) = self.line.pop() {
            if byte & 0xc0 != 0x80 {
                echo.extend_from_slice(b"\x08 \x08");
                return;
            }
        }
    }

    /// Reads the keys of a user until their end; completes when the program is gone.
    pub(crate) async fn run(
        mut self,
        mut keys: mpsc::Receiver<Bytes>,
        lines: mpsc::Sender<Bytes>,
        interrupts: watch::Sender<u64>,
        screen: mpsc::Sender<Bytes>,
    ) {
        while let Some(data) = keys.recv().await {
            let mut echo = Vec::new();
            let mut actions = Vec::new();
            for key in data {
                actions.extend(self.key(key, &mut echo));
            }
            if !echo.is_empty() && screen.send(echo.into()).await.is_err() {
                return;
            }
            for action in actions {
                match action {
                    Action::Line(line) => {
                        if lines.send(line.into()).await.is_err() {
                            return;
                        }
                    }
                    // The program sees the end of its input.
                    Action::EndOfFile => return,
                    Action::Interrupt => interrupts.send_modify(|count| *count += 1),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_keys(keys: &[u8]) -> (Vec<Action>, String) {
        let (mut line, mut echo) = (LineDiscipline::default(), Vec::new());
        let actions = keys.iter().filter_map(|key| line.key(*key, &mut echo));
        (actions.collect(), String::from_utf8(echo).unwrap())
    }

    #[test]
    fn lines_are_edited() {
        let line = |text: &[u8]| Action::Line(text.to_vec());
        let (actions, echo) = type_keys(b"lx\x7fs\r");
        assert_eq!(
            (actions, echo.as_str()),
            (vec![line(b"ls\n")], "lx\x08 \x08s\r\n")
        );
        let (actions, _) = type_keys("ä\x7fab c\x17d\x1b[A\r".as_bytes());
        assert_eq!(actions, [line(b"ab d\n")]);
        assert_eq!(type_keys(b"ab\x03").0, [Action::Interrupt]);
        assert_eq!(type_keys(b"a\x04\x15\x04").0, [Action::EndOfFile]);
    }
}
