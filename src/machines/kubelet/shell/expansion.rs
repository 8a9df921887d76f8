//! Shell words: expansion, arithmetic, `test`, `printf` and `seq`.

use super::interpreter::Shell;
use super::lexer::WordPart;

/// Maximum number of values of `seq`.
const NUMBERS: usize = 10_000;

/// Expands words; unquoted variables and command substitutions are split at spaces.
pub(super) fn expand(shell: &mut Shell, pieces: &[WordPart], words: &mut Vec<String>) {
    let alone = matches!(
        pieces,
        [WordPart::Variable(..)] | [WordPart::Command(_, false)]
    );
    let text: String = pieces.iter().map(|piece| shell.text(piece)).collect();
    if alone {
        words.extend(text.split_whitespace().map(str::to_string));
    } else {
        words.push(text);
    }
}

/// The values of `seq LAST`, `seq FIRST LAST` or `seq FIRST STEP LAST`.
pub(super) fn seq(arguments: &[&str]) -> Vec<i64> {
    let numbers: Vec<i64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let (first, step, last) = match numbers[..] {
        [last] => (1, 1, last),
        [first, last] => (first, 1, last),
        [first, step, last] if step != 0 => (first, step, last),
        _ => return Vec::new(),
    };
    let past = |n: &i64| if step > 0 { *n <= last } else { *n >= last };
    std::iter::successors(Some(first), |n| n.checked_add(step))
        .take_while(past)
        .take(NUMBERS)
        .collect()
}

/// The output of `printf`.
pub(super) fn printf(arguments: &[&str]) -> String {
    let mut arguments = arguments.iter();
    let format = arguments.next().copied().unwrap_or_default();
    let format = format.replace("\\n", "\n").replace("\\t", "\t");
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        // Width and precision are ignored.
        match letters.find(char::is_ascii_alphabetic) {
            Some(_) => text.push_str(arguments.next().copied().unwrap_or_default()),
            None => text.push('%'),
        }
    }
    text
}

/// The result of `test`; files never exist.
pub(super) fn test(arguments: &[&str]) -> bool {
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|a| !matches!(*a, "]" | "]]"))
        .collect();
    let number = |text: &str| text.trim().parse::<i64>().unwrap_or(0);
    match arguments[..] {
        [] => false,
        ["!", ref rest @ ..] => !test(rest),
        ["-z", text] => text.is_empty(),
        ["-n", text] => !text.is_empty(),
        ["-f" | "-d" | "-e" | "-s" | "-x" | "-r", _] => false,
        [text] => !text.is_empty(),
        [a, "=" | "==", b] => a == b,
        [a, "!=", b] => a != b,
        [a, "-eq", b] => number(a) == number(b),
        [a, "-ne", b] => number(a) != number(b),
        [a, "-lt", b] => number(a) < number(b),
        [a, "-le", b] => number(a) <= number(b),
        [a, "-gt", b] => number(a) > number(b),
        [a, "-ge", b] => number(a) >= number(b),
        _ => true,
    }
}

/// The value of `$((...))`: integers, `+ - * / %`, parentheses, variables, `x++`, `x += n`.
pub(super) fn arithmetic(shell: &mut Shell, expression: &str) -> i64 {
    let expression = expression.trim();
    if let Some(name) = expression.strip_suffix("++") {
        let name = name.trim().trim_start_matches('$').to_string();
        let old = shell.value(&name).parse::<i64>().unwrap_or(0);
        let new = old.wrapping_add(1).to_string();
        shell.variables.insert(name, new);
        return old;
    }
    let letters: Vec<char> = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let mut reader = ArithmeticParser {
        shell,
        letters: &letters,
        at: 0,
        depth: 0,
    };
    reader.sum()
}

struct ArithmeticParser<'a> {
    shell: &'a Shell,
    letters: &'a [char],
    at: usize,
    depth: usize,
}

impl ArithmeticParser<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn sum(&mut self) -> i64 {
        let mut value = self.product();
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.at += 1;
            let other = self.product();
            value = match operator {
                '+' => value.saturating_add(other),
                _ => value.saturating_sub(other),
            };
        }
        value
    }

    fn product(&mut self) -> i64 {
        let mut value = self.atom();
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            self.at += 1;
            let other = self.atom();
            value = match operator {
                '*' => value.saturating_mul(other),
                '/' => value.checked_div(other).unwrap_or(0),
                _ => value.checked_rem(other).unwrap_or(0),
            };
        }
        value
    }

    fn atom(&mut self) -> i64 {
        self.depth += 1;
        let value = match self.peek() {
            Some(_) if self.depth > 50 => 0,
            Some('(') => {
                self.at += 1;
                let value = self.sum();
                self.at += usize::from(self.peek() == Some(')'));
                value
            }
            Some('-') => {
                self.at += 1;
                self.atom().saturating_neg()
            }
            _ => {
                self.at += usize::from(self.peek() == Some('$'));
                let begin = self.at;
                while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                let word: String = self.letters[begin..self.at].iter().collect();
                word.parse()
                    .or_else(|_| self.shell.value(&word).parse())
                    .unwrap_or(0)
            }
        };
        self.depth -= 1;
        value
    }
}
