//! [`Cursor`]: the rest of a message while it is parsed.

/// The rest of a message. A method that returns none takes nothing.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { rest: text }
    }

    /// Takes this text.
    pub(super) fn take(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    /// Takes the text before a mark, and the mark.
    pub(super) fn until(&mut self, mark: &str) -> Option<&'a str> {
        let (before, rest) = self.rest.split_once(mark)?;
        self.rest = rest;
        Some(before)
    }

    /// Takes a name: up to a space or a separator, without the end of the sentence.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        let end = self.rest.find([' ', ',', ';', ':']);
        let name = &self.rest[..end.unwrap_or(self.rest.len())];
        let name = name.trim_end_matches('.');
        self.rest = &self.rest[name.len()..];
        (!name.is_empty()).then_some(name)
    }

    /// Takes a text in quotes, as Go and Rust quote it.
    pub(super) fn quoted(&mut self) -> Option<String> {
        let rest = self.rest.strip_prefix('"')?;
        let mut text = String::new();
        let mut characters = rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.rest = &rest[at + 1..];
                    return Some(text);
                }
                '\\' => text.push(characters.next()?.1),
                _ => text.push(character),
            }
        }
        None
    }

    /// Takes an integer.
    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let sign = self.rest.len() - digits.len();
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let end = sign + end.unwrap_or(digits.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    /// Whether everything was taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}
