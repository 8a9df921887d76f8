//! `echo`, `printf`, `seq` and `yes`.

use super::context::{Context, Exit};

/// `echo`: options as in `bash`; escapes only with `-e`.
pub(super) async fn echo(context: &mut Context<'_>) -> Exit {
    let (mut newline, mut escapes) = (true, false);
    let is_option = |word: &&String| {
        let letters = word.strip_prefix('-');
        letters.is_some_and(|l| !l.is_empty() && l.chars().all(|c| "neE".contains(c)))
    };
    let options = context.arguments.iter().take_while(is_option).count();
    for option in &context.arguments[..options] {
        newline &= !option.contains('n');
        escapes |= option.contains('e');
    }
    let mut text = context.arguments[options..].join(" ");
    if escapes {
        let (unescaped, ended) = unescape(&text);
        text = unescaped;
        newline &= !ended;
    }
    if newline {
        text.push('\n');
    }
    context.write(text).await?;
    Ok(0)
}

/// Replaces backslash escapes. The flag is set if `\c` ended the text.
fn unescape(text: &str) -> (String, bool) {
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

/// Maximum width of a number or text in `printf`.
const WIDTH: usize = 4096;

/// `printf`: repeats the format while there are arguments.
pub(super) async fn printf(context: &mut Context<'_>) -> Exit {
    let Some((format, arguments)) = context.arguments.split_first() else {
        return context.fail(2, "usage: printf format [arguments]").await;
    };
    let (format, _) = unescape(format);
    let mut arguments = arguments.iter().map(String::as_str);
    let mut left = arguments.len();
    loop {
        let (text, used) = format_once(&format, &mut arguments);
        context.write(text).await?;
        left = left.saturating_sub(used);
        if left == 0 || used == 0 {
            return Ok(0);
        }
    }
}

fn format_once<'a>(format: &str, arguments: &mut impl Iterator<Item = &'a str>) -> (String, usize) {
    let (mut text, mut used) = (String::new(), 0);
    let mut letters = format.chars().peekable();
    while let Some(c) = letters.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        if letters.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let mut next = || {
            let argument = arguments.next();
            used += usize::from(argument.is_some());
            argument.unwrap_or_default()
        };
        let (mut left, mut zero) = (false, false);
        while let Some(flag) = letters.next_if(|c| "-0+ #".contains(*c)) {
            left |= flag == '-';
            zero |= flag == '0';
        }
        let number = |star: &str, letters: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut digits = String::new();
            if letters.next_if_eq(&'*').is_some() {
                digits.push_str(star);
            }
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            digits.parse::<usize>().ok().map(|width| width.min(WIDTH))
        };
        let width = match letters.peek() {
            Some('*') => {
                let star = next().to_owned();
                number(&star, &mut letters)
            }
            _ => number("", &mut letters),
        };
        let precision = letters
            .next_if_eq(&'.')
            .map(|_| number("", &mut letters).unwrap_or(0));
        let value = match letters.next() {
            Some('s') => {
                let argument = next();
                argument
                    .chars()
                    .take(precision.unwrap_or(usize::MAX))
                    .collect()
            }
            Some('b') => unescape(next()).0,
            Some('c') => next().chars().take(1).collect(),
            Some('d' | 'i' | 'u') => integer(next()).to_string(),
            Some('x') => format!("{:x}", integer(next())),
            Some('X') => format!("{:X}", integer(next())),
            Some('o') => format!("{:o}", integer(next())),
            Some('f' | 'F' | 'e' | 'g') => {
                let argument: f64 = next().trim().parse().unwrap_or(0.0);
                format!("{argument:.*}", precision.unwrap_or(6))
            }
            Some('q') => format!("'{}'", next().replace('\'', "'\\''")),
            _ => String::new(),
        };
        let width = width.unwrap_or(0);
        let missing = width.saturating_sub(value.chars().count());
        if left {
            text.push_str(&value);
            text.push_str(&" ".repeat(missing));
        } else if zero {
            let (sign, digits) = match value.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", value.as_str()),
            };
            text.push_str(sign);
            text.push_str(&"0".repeat(missing));
            text.push_str(digits);
        } else {
            text.push_str(&" ".repeat(missing));
            text.push_str(&value);
        }
    }
    (text, used)
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

/// `seq`
pub(super) async fn seq(context: &mut Context<'_>) -> Exit {
    let numbers: Vec<&str> = context.arguments.iter().map(String::as_str).collect();
    for number in kueue_lab_shell::seq(&numbers) {
        context.line(number.to_string()).await?;
    }
    Ok(0)
}

/// `yes`
pub(super) async fn yes(context: &mut Context<'_>) -> Exit {
    let text = match context.arguments {
        [] => "y".to_owned(),
        words => words.join(" "),
    };
    let lines = format!("{text}\n").repeat(64);
    loop {
        context.write(&lines).await?;
        tokio::task::yield_now().await;
    }
}
