//! Options and operands of programs.

/// Options of one letter, and operands.
pub(super) struct Arguments<'a> {
    /// Letters and values.
    options: Vec<(char, Option<&'a str>)>,
    /// The other arguments.
    pub(super) operands: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    /// Parses arguments as `getopt` does: `valued` are the letters with a value. Long options are
    /// ignored if they are not in `long`, which gives the letter for each; a value follows `=`.
    pub(super) fn parse(arguments: &'a [String], valued: &str, long: &[(&str, char)]) -> Self {
        let mut parsed = Self {
            options: Vec::new(),
            operands: Vec::new(),
        };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                parsed.operands.extend(rest);
                break;
            }
            if let Some(option) = argument.strip_prefix("--") {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (option, None),
                };
                if let Some((_, letter)) = long.iter().find(|(known, _)| *known == name) {
                    let value = match valued.contains(*letter) {
                        true => value.or_else(|| rest.next()),
                        false => None,
                    };
                    parsed.options.push((*letter, value));
                }
                continue;
            }
            let letters = argument.strip_prefix('-').filter(|l| !l.is_empty());
            let Some(letters) = letters else {
                parsed.operands.push(argument);
                continue;
            };
            for (at, letter) in letters.char_indices() {
                if valued.contains(letter) {
                    let attached = &letters[at + letter.len_utf8()..];
                    let value = match attached {
                        "" => rest.next(),
                        attached => Some(attached),
                    };
                    parsed.options.push((letter, value));
                    break;
                }
                parsed.options.push((letter, None));
            }
        }
        parsed
    }

    /// The operands as paths of input files; the standard input if there are none.
    pub(super) fn input_paths(&self) -> Vec<&'a str> {
        match self.operands.as_slice() {
            [] => vec!["-"],
            paths => paths.to_vec(),
        }
    }

    pub(super) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(known, _)| *known == letter)
    }

    /// The last value of an option.
    pub(super) fn value(&self, letter: char) -> Option<&'a str> {
        let mut options = self.options.iter().rev();
        options.find(|(known, _)| *known == letter)?.1
    }

    /// All values of an option.
    pub(super) fn values(&self, letter: char) -> impl Iterator<Item = &'a str> + '_ {
        let options = self.options.iter();
        options
            .filter(move |(known, _)| *known == letter)
            .filter_map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_be_joined() {
        let words = ["-rn5", "a", "--count=3", "-", "--", "-x"].map(String::from);
        let parsed = Arguments::parse(&words, "nc", &[("count", 'c')]);
        assert!(parsed.has('r') && !parsed.has('x'));
        assert_eq!(
            (parsed.value('n'), parsed.value('c')),
            (Some("5"), Some("3"))
        );
        assert_eq!(parsed.operands, ["a", "-", "-x"]);
    }
}
