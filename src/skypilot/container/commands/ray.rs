//! `ray` and `sshd`: programs that run as long as something else.

use kueue_lab_container_program::DEFAULT_DURATION;

use super::context::{Context, Exit};
use crate::known_command::is_known;

/// `ray start --block` and `ray kuberay-autoscaler` run forever; `ray job submit -- ENTRYPOINT` runs as long as the
/// entrypoint.
pub(super) async fn ray(context: &mut Context<'_>) -> Exit {
    let words: Vec<&str> = context.arguments.iter().map(String::as_str).collect();
    match &words[..] {
        ["start", rest @ ..] if rest.contains(&"--block") => std::future::pending().await,
        ["kuberay-autoscaler", ..] => std::future::pending().await,
        ["job", "submit", rest @ ..] => {
            let after = rest.iter().skip_while(|word| **word != "--").skip(1);
            let entrypoint: Vec<&str> = after.copied().collect();
            if entrypoint.first() == Some(&"ray") || !is_known(&entrypoint) {
                super::environment::sleep(context, DEFAULT_DURATION).await;
                return Ok(0);
            }
            let entrypoint: Vec<String> = entrypoint.into_iter().map(str::to_owned).collect();
            let mut child = context.shell.child();
            child.run_program(&entrypoint, context.streams).await;
            Ok(child.status())
        }
        _ => Ok(0),
    }
}

/// `sshd -D` runs forever.
pub(super) async fn sshd(context: &mut Context<'_>) -> Exit {
    let stays = context.arguments.iter().any(|word| word.starts_with("-D"));
    if stays {
        std::future::pending::<()>().await;
    }
    Ok(0)
}
