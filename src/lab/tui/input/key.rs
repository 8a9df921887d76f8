//! Keys and their text form.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with modifiers. Shift is part of the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// Whether Ctrl is held.
    pub ctrl: bool,
    /// Whether Alt is held.
    pub alt: bool,
}

/// The names of keys without a character.
const NAMES: [(&str, KeyCode); 15] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("del", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

impl Key {
    /// A key without modifiers.
    pub fn plain(code: KeyCode) -> Self {
        Self {
            code,
            ctrl: false,
            alt: false,
        }
    }

    /// Parses a key in the syntax of the key map: `q`, `G`, `ctrl-d`, `shift-tab`, `pgdn`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Some(Self::plain(*code));
        }
        if let Some(rest) = text.strip_prefix("ctrl-").filter(|r| !r.is_empty()) {
            return Some(Self {
                ctrl: true,
                ..Self::parse(rest)?
            });
        }
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Some(Self::plain(KeyCode::Char(c))),
            _ => None,
        }
    }

    /// The character that the key types.
    pub fn character(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let code = match event.code {
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::SHIFT) => {
                KeyCode::Char(c.to_uppercase().next().unwrap_or(c))
            }
            code => code,
        };
        Self {
            code,
            ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
            alt: event.modifiers.contains(KeyModifiers::ALT),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        match NAMES.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => f.write_str(name),
            None => match self.code {
                KeyCode::Char(c) => write!(f, "{c}"),
                other => write!(f, "{other:?}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_written() {
        for text in ["q", "G", "?", "ctrl-d", "shift-tab", "pgdn", "space", "["] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Key::parse("nonsense"), None);
    }

    #[test]
    fn shift_belongs_to_the_character() {
        let event = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::SHIFT);
        assert_eq!(Key::from(event), Key::parse("G").unwrap());
    }
}
