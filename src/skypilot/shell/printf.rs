//! `printf`: formats, escapes and the text of numbers, which `awk` uses too.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum width and precision.
const MOST: usize = 4096;

/// A directive of a format, such as `%-8.3f`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directive {
    /// The flags among `-+ 0#`.
    flags: String,
    width: usize,
    /// The precision, if there is one.
    pub precision: Option<usize>,
    /// The letter of the conversion.
    pub conversion: char,
}

/// The arguments of a format.
pub trait Arguments {
    /// The next argument as a width, for `*`.
    fn width(&mut self) -> i64;
    /// The text of the next argument. [`Directive`] has the texts of numbers.
    fn convert(&mut self, directive: &Directive) -> String;
}

/// Formats arguments once.
pub fn format(text: &str, arguments: &mut impl Arguments) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if letters.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let Some(directive) = Directive::read(&mut letters, arguments) else {
            break;
        };
        let text = arguments.convert(&directive);
        directive.pad(&mut out, &text);
    }
    out
}

impl Directive {
    fn read(letters: &mut Peekable<Chars<'_>>, arguments: &mut impl Arguments) -> Option<Self> {
        let mut flags = String::new();
        while let Some(flag) = letters.next_if(|c| "-+ 0#".contains(*c)) {
            flags.push(flag);
        }
        let mut number = || match letters.next_if_eq(&'*') {
            Some(_) => arguments.width(),
            None => {
                let mut digits = String::new();
                while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                    digits.push(digit);
                }
                digits.parse().unwrap_or(0)
            }
        };
        let size =
            |number: i64| usize::try_from(number.unsigned_abs()).map_or(MOST, |n| n.min(MOST));
        let width = number();
        if width < 0 {
            flags.push('-');
        }
        let precision = letters.next_if_eq(&'.').map(|_| {
            let mut digits = String::new();
            match letters.next_if_eq(&'*') {
                Some(_) => size(arguments.width()),
                None => {
                    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                        digits.push(digit);
                    }
                    digits.parse().map_or(0, |n: usize| n.min(MOST))
                }
            }
        });
        Some(Self {
            flags,
            width: size(width),
            precision,
            conversion: letters.next()?,
        })
    }

    /// The text of a signed number, for `%d`.
    pub fn signed(&self, number: i64) -> String {
        let digits = format!(
            "{:0width$}",
            number.unsigned_abs(),
            width = self.precision.unwrap_or(0)
        );
        let sign = if number < 0 { "-" } else { "" };
        self.with_sign(format!("{sign}{digits}"))
    }

    /// The text of a number, for `%o`, `%x` and `%X`.
    pub fn unsigned(&self, number: i64) -> String {
        let hash = self.flags.contains('#') && number != 0;
        match self.conversion {
            'o' if hash => format!("0{number:o}"),
            'o' => format!("{number:o}"),
            'x' if hash => format!("0x{number:x}"),
            'x' => format!("{number:x}"),
            'X' if hash => format!("0X{number:X}"),
            'X' => format!("{number:X}"),
            _ => format!("{}", number as u64),
        }
    }

    /// The text of a number, for `%f`, `%e` and `%g`.
    pub fn float(&self, number: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        self.with_sign(match self.conversion {
            'e' | 'E' => exponential(number, precision),
            'g' | 'G' => general(number, precision),
            _ => format!("{number:.precision$}"),
        })
    }

    /// The beginning of a text, for `%s`.
    pub fn text(&self, text: &str) -> String {
        match self.precision {
            Some(most) => text.chars().take(most).collect(),
            None => text.to_owned(),
        }
    }

    fn with_sign(&self, text: String) -> String {
        match text.starts_with('-') {
            false if self.flags.contains('+') => format!("+{text}"),
            false if self.flags.contains(' ') => format!(" {text}"),
            _ => text,
        }
    }

    fn pad(&self, out: &mut String, text: &str) {
        let missing = self.width.saturating_sub(text.chars().count());
        let fill = |fill: &str| fill.repeat(missing);
        if self.flags.contains('-') {
            out.push_str(text);
            out.push_str(&fill(" "));
        } else if self.flags.contains('0') && "diuoxXfFeEgG".contains(self.conversion) {
            let sign = usize::from(text.starts_with(['-', '+', ' ']));
            out.push_str(&text[..sign]);
            out.push_str(&fill("0"));
            out.push_str(&text[sign..]);
        } else {
            out.push_str(&fill(" "));
            out.push_str(text);
        }
    }
}

/// `%e`.
fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or_default();
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        None => text,
    }
}

/// `%g`: the shorter form, without trailing zeros.
pub fn general(number: f64, precision: usize) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.into();
    }
    let precision = precision.max(1);
    let exponent = match number {
        0.0 => 0,
        number => {
            let text = format!("{number:.*e}", precision - 1);
            let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok());
            exponent.unwrap_or(0_i32)
        }
    };
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= i32::try_from(precision).unwrap_or(i32::MAX) {
        let text = exponential(number, precision - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    let decimals = i32::try_from(precision).unwrap_or(i32::MAX) - 1 - exponent;
    let decimals = usize::try_from(decimals).unwrap_or_default();
    without_zeros(&format!("{number:.decimals$}"))
}

/// The output of the shell's `printf`: the text of each round, as the format is repeated while there are arguments.
#[derive(Debug)]
pub struct Printf<'a, I: Iterator<Item = &'a str>> {
    format: String,
    words: Peekable<I>,
    /// Whether there is another round.
    is_done: bool,
}

impl<'a, I: Iterator<Item = &'a str>> Printf<'a, I> {
    /// The output for a format and its arguments.
    pub fn new(mut format_and_arguments: I) -> Self {
        let (format, _) = unescape(format_and_arguments.next().unwrap_or_default());
        Self {
            format,
            words: format_and_arguments.peekable(),
            is_done: false,
        }
    }
}

impl<'a, I: Iterator<Item = &'a str>> Iterator for Printf<'a, I> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.is_done, true) {
            return None;
        }
        let mut arguments = Words {
            words: &mut self.words,
            used: 0,
        };
        let text = format(&self.format, &mut arguments);
        self.is_done = arguments.used == 0 || self.words.peek().is_none();
        Some(text)
    }
}

/// The arguments of one round.
struct Words<'w, I> {
    words: &'w mut I,
    /// How many it took.
    used: usize,
}

impl<'a, I: Iterator<Item = &'a str>> Words<'_, I> {
    fn take(&mut self) -> &'a str {
        let word = self.words.next();
        self.used += usize::from(word.is_some());
        word.unwrap_or_default()
    }
}

impl<'a, I: Iterator<Item = &'a str>> Arguments for Words<'_, I> {
    fn width(&mut self) -> i64 {
        integer(self.take())
    }

    fn convert(&mut self, directive: &Directive) -> String {
        let word = self.take();
        match directive.conversion {
            's' => directive.text(word),
            'b' => directive.text(&unescape(word).0),
            'c' => word.chars().take(1).collect(),
            'd' | 'i' => directive.signed(integer(word)),
            'u' | 'o' | 'x' | 'X' => directive.unsigned(integer(word)),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                directive.float(word.trim().parse().unwrap_or(0.0))
            }
            'q' => format!("'{}'", word.replace('\'', "'\\''")),
            _ => String::new(),
        }
    }
}

/// Replaces backslash escapes. The flag is set if `\c` ended the text.
pub fn unescape(text: &str) -> (String, bool) {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a') => out.push('\x07'),
            Some('b') => out.push('\x08'),
            Some('e') => out.push('\x1b'),
            Some('c') => return (out, true),
            Some('\\') => out.push('\\'),
            Some('0') => {
                let mut code = 0_u32;
                for _ in 0..3 {
                    let Some(digit) = letters.next_if(|c| c.is_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit.to_digit(8).unwrap_or(0);
                }
                out.extend(char::from_u32(code & 0xff));
            }
            Some('x') => {
                let mut code = 0_u32;
                for _ in 0..2 {
                    let Some(digit) = letters.next_if(char::is_ascii_hexdigit) else {
                        break;
                    };
                    code = code * 16 + digit.to_digit(16).unwrap_or(0);
                }
                out.extend(char::from_u32(code));
            }
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    (out, false)
}

fn integer(text: &str) -> i64 {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).unwrap_or(0),
        None => match text.strip_prefix(['\'', '"']) {
            Some(letter) => letter.chars().next().map_or(0, |c| i64::from(u32::from(c))),
            None => text.parse().unwrap_or(0),
        },
    }
}
