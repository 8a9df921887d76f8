//! Programs about the system: `date`, `hostname`, `id`, `uname`, `nproc`, `nslookup`, ...

use super::arguments::Arguments;
use super::context::{Context, Exit};

const KERNEL: &str = "6.8.0-45-generic";
const VERSION: &str = "#45-Ubuntu SMP PREEMPT_DYNAMIC";

pub(super) async fn run(program: &str, context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "d", &[("date", 'd')]);
    match program {
        "date" => return date(context, &arguments).await,
        "getent" | "nslookup" => return resolve(program, context, &arguments).await,
        "ip" => return ip(context).await,
        _ => {}
    }
    let hostname = context.container().config().hostname.clone();
    let text = match program {
        "hostname" if arguments.has('i') || arguments.has('I') => {
            let system = context.container().system();
            let addresses = system.resolve(&hostname).await.into_iter();
            addresses
                .map(|address| address.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        }
        "hostname" => hostname,
        "whoami" => "root".into(),
        "id" => match (arguments.has('u'), arguments.has('g'), arguments.has('n')) {
            (true, _, true) | (_, true, true) => "root".into(),
            (true, ..) | (_, true, _) => "0".into(),
            _ => "uid=0(root) gid=0(root) groups=0(root)".into(),
        },
        "arch" => "x86_64".into(),
        "nproc" => context.container().system().cpus().to_string(),
        "tty" => match context.shell.terminal_size() {
            Some(_) => "/dev/pts/0".into(),
            None => {
                context.line("not a tty").await?;
                return Ok(1);
            }
        },
        "uname" => {
            let all = arguments.has('a');
            let parts = [
                ('s', "Linux"),
                ('n', hostname.as_str()),
                ('r', KERNEL),
                ('v', VERSION),
                ('m', "x86_64"),
                ('o', "GNU/Linux"),
            ];
            let plain = context.arguments.is_empty();
            let shown = parts
                .iter()
                .filter(|(letter, _)| all || arguments.has(*letter) || (plain && *letter == 's'));
            shown.map(|(_, text)| *text).collect::<Vec<_>>().join(" ")
        }
        _ => return context.fail(127, "not found").await,
    };
    context.line(text).await?;
    Ok(0)
}

async fn date(context: &Context<'_>, arguments: &Arguments<'_>) -> Exit {
    let mut now = context.now();
    if let Some(text) = arguments.value('d') {
        let seconds = text.strip_prefix('@').and_then(|text| text.parse().ok());
        let parsed = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        match parsed.or_else(|| text.parse().ok()) {
            Some(time) => now = time,
            None => return context.fail(1, format!("invalid date '{text}'")).await,
        }
    }
    let mut formats = arguments.operands.iter();
    let format = formats.find_map(|operand| operand.strip_prefix('+'));
    let format = match format {
        None if arguments.has('I') => "%Y-%m-%d",
        None => "%a %b %e %H:%M:%S UTC %Y",
        Some(format) => format,
    };
    let zoned = now.to_zoned(jiff::tz::TimeZone::UTC);
    match jiff::fmt::strtime::format(format.replace("%N", "%9f"), &zoned) {
        Ok(text) => {
            context.line(text).await?;
            Ok(0)
        }
        Err(_) => context.fail(1, format!("bad format '{format}'")).await,
    }
}

async fn resolve(program: &str, context: &Context<'_>, arguments: &Arguments<'_>) -> Exit {
    let host = match (program, arguments.operands.as_slice()) {
        ("getent", [_, host, ..]) | ("nslookup", [host, ..]) => *host,
        _ => return context.fail(1, "missing operand").await,
    };
    let addresses = context.container().system().resolve(host).await;
    if addresses.is_empty() {
        return match program {
            "getent" => Ok(2),
            _ => {
                let server = "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n";
                context.line(server).await?;
                context
                    .line(format!("** server can't find {host}: NXDOMAIN\n"))
                    .await?;
                Ok(1)
            }
        };
    }
    if program == "getent" {
        for address in addresses {
            context.line(format!("{address:<15} {host}")).await?;
        }
        return Ok(0);
    }
    context
        .line("Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n")
        .await?;
    for address in addresses {
        context
            .line(format!("Name:\t{host}\nAddress: {address}"))
            .await?;
    }
    Ok(0)
}

/// `ip addr`
async fn ip(context: &Context<'_>) -> Exit {
    context
        .line("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo")
        .await?;
    let hostname = &context.container().config().hostname;
    for address in context.container().system().resolve(hostname).await {
        let text = format!(
            "2: eth0@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500\n    inet {address}/24 scope global eth0"
        );
        context.line(text).await?;
    }
    Ok(0)
}
