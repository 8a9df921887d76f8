//! `echo`, `printf`, `seq` and `yes`.

use kueue_lab_shell::printf::{Printf, unescape};

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

/// `printf`: repeats the format while there are arguments.
pub(super) async fn printf(context: &mut Context<'_>) -> Exit {
    if context.arguments.is_empty() {
        return context.fail(2, "usage: printf format [arguments]").await;
    }
    for text in Printf::new(context.arguments.iter().map(String::as_str)) {
        context.write(text).await?;
    }
    Ok(0)
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
        if !context.shell.step().await {
            return Ok(137);
        }
    }
}
