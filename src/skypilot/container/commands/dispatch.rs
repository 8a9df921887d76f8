//! Runs a program by name.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::context::{Context, Exit};
use super::{
    archive, awk, curl, encodings, environment, external, files, find, grep, list, nvidia_smi,
    printing, processes, python, ray, rsync, sed, system, text,
};
use crate::shell::{SHELL_NAMES, Shell};
use crate::streams::{Closed, Streams};

/// The programs of an image with a shell.
const PROGRAMS: [&str; 88] = [
    "[",
    "ash",
    "awk",
    "base64",
    "basename",
    "bash",
    "cat",
    "chmod",
    "chown",
    "clear",
    "cp",
    "curl",
    "cut",
    "date",
    "dd",
    "df",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "expr",
    "false",
    "fgrep",
    "find",
    "findmnt",
    "free",
    "getent",
    "grep",
    "head",
    "hostname",
    "id",
    "ip",
    "kill",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "nice",
    "nl",
    "nohup",
    "nproc",
    "nslookup",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rm",
    "rmdir",
    "rsync",
    "sed",
    "seq",
    "sh",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "stdbuf",
    "stty",
    "sudo",
    "sync",
    "tac",
    "tail",
    "tar",
    "tee",
    "test",
    "time",
    "timeout",
    "touch",
    "tr",
    "true",
    "tty",
    "uname",
    "uniq",
    "uptime",
    "wc",
    "wget",
    "which",
    "whoami",
    "xargs",
    "yes",
    "arch",
    "dash",
];

/// Programs of images of applications. Those that a container does not simulate succeed without output.
const APPLICATION_PROGRAMS: [&str; 56] = [
    "accelerate",
    "apt",
    "apt-get",
    "aws",
    "cargo",
    "cmake",
    "conda",
    "deepspeed",
    "docker",
    "g++",
    "gcc",
    "gcloud",
    "git",
    "go",
    "gsutil",
    "helm",
    "horovodrun",
    "huggingface-cli",
    "java",
    "jq",
    "julia",
    "jupyter",
    "kubectl",
    "ldconfig",
    "make",
    "mamba",
    "mpiexec",
    "mpirun",
    "node",
    "npm",
    "npx",
    "nvcc",
    "openssl",
    "perl",
    "pip",
    "pip3",
    "poetry",
    "psql",
    "python",
    "python3",
    "pytest",
    "ray",
    "ruby",
    "service",
    "spark-submit",
    "ssh",
    "ssh-keygen",
    "sshd",
    "systemctl",
    "tensorboard",
    "torchrun",
    "unzip",
    "uv",
    "vllm",
    "yum",
    "zip",
];

/// Programs that BusyBox does not have.
const NOT_IN_BUSYBOX: [&str; 6] = ["bash", "curl", "dash", "rsync", "stdbuf", "sudo"];

/// The programs of an image.
pub fn programs(is_busybox: bool, has_gpus: bool) -> impl Iterator<Item = &'static str> {
    let missing = move |name: &str| is_busybox && NOT_IN_BUSYBOX.contains(&name);
    let own = PROGRAMS.into_iter().filter(move |name| !missing(name));
    let applications = APPLICATION_PROGRAMS.into_iter();
    // KubeRay starts it in every image, also in the small ones of presets and tests.
    let is_of_operators = |name: &str| name == "ray";
    own.chain(applications.filter(move |name| !is_busybox || is_of_operators(name)))
        .chain(has_gpus.then_some("nvidia-smi"))
}

/// Runs a program of the image.
pub(crate) fn run_program<'a>(
    program: &'a str,
    shell: &'a mut Shell,
    words: &'a [String],
    streams: &'a Streams,
) -> BoxFuture<'a, Result<i32, Closed>> {
    run(program, shell, words, streams).boxed()
}

/// Runs a program; the first word is the name by which it was called.
async fn run(program: &str, shell: &mut Shell, words: &[String], streams: &Streams) -> Exit {
    if SHELL_NAMES.contains(&program) {
        return Box::pin(shell.run_shell(words, streams)).await;
    }
    let mut context = Context::new(shell, words, streams);
    let context = &mut context;
    if let Some(program) = context.container().program(program) {
        return external::run(program, context).await;
    }
    match program {
        "true" | "sync" | "stty" | "clear" => Ok(0),
        // There are no file systems of the requested type.
        "false" | "findmnt" => Ok(1),
        "[" | "test" => environment::test(context).await,
        "echo" => printing::echo(context).await,
        "printf" => printing::printf(context).await,
        "yes" => printing::yes(context).await,
        "seq" => printing::seq(context).await,
        "env" | "nice" | "nohup" | "stdbuf" | "sudo" | "time" | "timeout" | "xargs" => {
            Box::pin(environment::run_other(program, context)).await
        }
        "printenv" => environment::printenv(context).await,
        "pwd" => environment::pwd(context).await,
        "which" => environment::which(context).await,
        "expr" => environment::expr(context).await,
        "basename" | "dirname" | "readlink" | "realpath" => files::paths(program, context).await,
        "mkdir" | "rmdir" | "rm" | "touch" | "ln" | "chmod" | "chown" | "mktemp" | "stat"
        | "dd" => files::change(program, context).await,
        "cp" | "mv" => files::copy_or_move(program, context).await,
        "ls" => list::ls(context).await,
        "find" => Box::pin(find::find(context)).await,
        "du" | "df" => list::usage(program, context).await,
        "cat" | "tee" | "head" | "tail" | "wc" | "sort" | "uniq" | "cut" | "tr" | "tac" | "rev"
        | "nl" => text::run(program, context).await,
        "grep" | "egrep" | "fgrep" => grep::grep(program, context).await,
        "sed" => sed::sed(context).await,
        "awk" => awk::awk(context).await,
        "base64" | "md5sum" | "sha256sum" => encodings::run(program, context).await,
        "rsync" => rsync::rsync(context).await,
        "tar" => archive::tar(context).await,
        "curl" | "wget" => curl::run(program, context).await,
        "nvidia-smi" => nvidia_smi::nvidia_smi(context).await,
        "ps" | "kill" | "uptime" | "free" => processes::run(program, context).await,
        "sleep" => processes::sleep(context).await,
        "python" | "python3" => python::python(context).await,
        "ray" => Box::pin(ray::ray(context)).await,
        "sshd" => ray::sshd(context).await,
        _ if APPLICATION_PROGRAMS.contains(&program) => Ok(0),
        _ => system::run(program, context).await,
    }
}
