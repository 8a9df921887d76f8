use std::time::Duration;

use proptest::prelude::*;

use super::*;
use kueue_lab_container_program::{Program, Step};

fn run(script: &str) -> Vec<Step> {
    let environment = Environment::from([("INDEX".into(), "3".into())]);
    steps(&["/bin/sh", "-c", script], &environment).unwrap()
}

/// Lines, seconds and the exit code, on one line.
fn trace(script: &str) -> String {
    trace_steps(run(script))
}

fn trace_bash(script: &str) -> String {
    trace_steps(steps(&["bash", "-c", script], &Environment::new()).unwrap())
}

fn trace_steps(steps: Vec<Step>) -> String {
    let words = steps.into_iter().map(|step| match step {
        Step::Print(line) => line,
        Step::Wait(time) => format!("+{}", time.as_secs_f64()),
        Step::Hang => "hang".into(),
        Step::Loop(steps) => format!("loop({})", steps.len()),
        Step::Exit(code) => format!("exit {code}"),
    });
    words.collect::<Vec<_>>().join(" | ")
}

#[test]
fn scripts_print_wait_and_exit() {
    for (script, expected) in [
        (
            "set -e\necho \"worker ${INDEX} of 'n'\"; sleep 2 && echo 'a;b $INDEX' > /x\nexit 7; echo never",
            "worker 3 of 'n' | +2 | exit 7",
        ),
        ("echo a # not this\n# nor this\necho b", "a | b"),
        ("false", "exit 1"),
        ("false || echo rescued", "rescued"),
        ("set -e; false; echo never", "exit 1"),
        ("true && sleep 3 || sleep 9", "+3"),
        ("sleep 1m 30s", "+90"),
        ("N=5; sleep $N; sleep $((N * 2 + 1))", "+16"),
        ("sleep ${WAIT:-4}", "+4"),
        ("trap : TERM INT; sleep infinity & wait", "hang"),
        ("echo one 2>&1 | tee /tmp/log; exit $?", "one"),
        (
            "if [ \"$INDEX\" -eq 3 ]; then echo third; exit 2; else echo other; fi",
            "third | exit 2",
        ),
        (
            "if [ $INDEX = 1 ]; then echo a; elif [ $INDEX -gt 2 ]; then echo b; fi; echo c",
            "b | c",
        ),
        (
            "for i in $(seq 1 3); do echo \"epoch $i/3\"; sleep 2; done",
            "epoch 1/3 | +2 | epoch 2/3 | +2 | epoch 3/3 | +2",
        ),
        ("for i in a b; do echo $i; done; echo end", "a | b | end"),
        (
            "i=0; while [ $i -lt 2 ]; do echo $i; i=$((i+1)); done",
            "0 | 1",
        ),
        (
            "while true; do echo x; break; done; echo after",
            "x | after",
        ),
        ("greet() { echo hi; }; greet; exit 3", "hi | exit 3"),
        (
            "f() { echo \"$1 of $#\"; }; g() { f x; f $@; sleep $2; }; g 3 4; echo none$1",
            "x of 1 | 3 of 2 | +4 | none",
        ),
        (
            "(echo inner; sleep 1); echo `echo outer`",
            "inner | +1 | outer",
        ),
        (
            "cat <<EOF\nnot; exit 9\nEOF\necho done",
            "not; exit 9 | done",
        ),
        (
            "f() { env; }; f a",
            "HOME=/root | HOSTNAME= | INDEX=3 | PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        ("exec sleep 5", "+5"),
        ("(exit 3); echo after $?", "after 3"),
        ("set -e; ! true; echo on", "on"),
        ("case x in x) echo one;; esac; echo b", "one | b"),
        (
            "echo ${NONE:-$(echo inner)} ${INDEX:+set} ${#INDEX}",
            "inner set 1",
        ),
    ] {
        assert_eq!(trace(script), expected, "{script}");
    }
}

#[test]
fn endless_loops_are_bounded() {
    let steps = run("while true; do echo tick; sleep 1; done");
    assert!(matches!(steps.last(), Some(Step::Loop(body)) if body.len() == 2));
    let steps = run("i=0; until false; do echo $((i++)); sleep 1; done");
    assert!(steps.len() < 1_000 && matches!(steps.last(), Some(Step::Loop(_))));
    // Invalid scripts end, and do not panic.
    for invalid in [
        "for",
        "while",
        "if then fi done ) (",
        "$((",
        "${",
        "`",
        "'",
        "case x in",
        "a() {",
        "$((",
    ] {
        let _ = run(invalid);
    }
}

#[test]
fn python_one_liners() {
    assert_eq!(
        steps(
            &["python3", "-c", "import time; print('hi'); time.sleep(4)"],
            &Environment::new()
        )
        .unwrap(),
        [Step::Print("hi".into()), Step::Wait(Duration::from_secs(4))]
    );
}

#[test]
fn braces_and_arithmetic_commands_are_those_of_bash() {
    for (script, expected) in [
        (
            "for i in {1..3}; do echo $i; sleep 1; done",
            "1 | +1 | 2 | +1 | 3 | +1",
        ),
        (
            "echo {a,b}{1..2} {3..1} {01..10..4} {a..c}",
            "a1 a2 b1 b2 3 2 1 01 05 09 a b c",
        ),
        (
            "x=v; echo pre-{$x,w,{y,z}}.txt",
            "pre-v.txt pre-w.txt pre-y.txt pre-z.txt",
        ),
        (
            "echo {} {a} '{1..3}' \"{1..3}\" {1..x} ${x:-d}",
            "{} {a} {1..3} {1..3} {1..x} d",
        ),
        ("f() { echo in; }; f; { echo group; }", "in | group"),
        (
            "for ((i = 0; i < 3; i++)); do if ((i % 2 == 1)); then continue; fi; echo $i; done",
            "0 | 2",
        ),
        (
            "n=4; ((n += 2)); let m=n*2; echo $n $m $((n > 5 && m != 12))",
            "6 12 0",
        ),
        (
            "for ((;;)); do echo once; break; done; echo out",
            "once | out",
        ),
        ("((0)) || echo zero", "zero"),
        ("[[ a == a && ( b != c || x ) ]] && echo yes", "yes"),
        (
            "x=(1 2); x+=(3); for i in ${x[@]}; do echo $i; done",
            "1 | 2 | 3",
        ),
        ("a=1; a+=2; echo $a", "12"),
        ("exec > >(tee log) 2>&1\necho a", "a"),
    ] {
        assert_eq!(trace_bash(script), expected, "{script}");
    }
    assert_eq!(trace("for i in {1..3}; do echo $i; done"), "{1..3}");
    let hundred = trace_bash("for i in {1..100}; do echo $i; done");
    assert_eq!(hundred.split(" | ").count(), 100);
}

#[test]
fn files_of_the_image_and_of_volumes_are_supposed_to_exist() {
    for (script, expected) in [
        (
            "set -e; cd /workspace/app && . ./env.sh; ./train.sh; /opt/venv/bin/python x.py; echo done",
            "done",
        ),
        (
            "set -e; cat /etc/config/name; echo x > /data/out/y; cat /data/out/y",
            "x",
        ),
        (
            "set -e; cp /models/a . ; sed -i s/a/b/ /etc/app.conf; chmod +x /app/run; echo done",
            "done",
        ),
        (
            "until wget -q http://db:5432; do sleep 1; done; nslookup db; echo up",
            "up",
        ),
    ] {
        assert_eq!(trace(script), expected, "{script}");
    }
}

#[test]
fn time_passes_for_all_jobs_of_a_script() {
    for (script, expected) in [
        (
            "sleep 5 & sleep 3; echo three; wait; echo five",
            "+3 | three | +2 | five",
        ),
        (
            "(sleep 2; echo two) & (sleep 1; echo one) & wait",
            "+1 | one | +1 | two",
        ),
        ("timeout 4 sleep 9; echo $?", "+4 | 124"),
        (
            "while true; do sleep 1; done & sleep 200; echo end",
            "+200 | end",
        ),
        (
            "timeout 150 sh -c 'while true; do sleep 1; done'; echo $?",
            "+150 | 124",
        ),
        ("tail -f /dev/null", "hang"),
        ("sleep 2 | cat; echo x", "+2 | x"),
    ] {
        assert_eq!(trace(script), expected, "{script}");
    }
}

#[test]
fn ray_and_spark_commands() {
    let end = |words: &[&str]| {
        let environment = Environment::new();
        let steps = super::steps(words, &environment).unwrap();
        Program::new(steps)
            .end()
            .map(|(at, code)| (at.as_secs(), code))
    };
    let submit = |entrypoint: &str| {
        let script = format!("ray job submit --address http://a:8265 -- {entrypoint}");
        end(&["/bin/bash", "-c", "--", &script])
    };
    assert_eq!(submit("python train.py; sleep 60"), Some((90, 0)));
    assert_eq!(submit("sleep 5"), Some((5, 0)));
    assert_eq!(submit("sh -c 'sleep 5; exit 3'"), Some((5, 3)));
    assert_eq!(end(&["ray", "start", "--head", "--block"]), None);
    assert_eq!(end(&["ray", "kuberay-autoscaler"]), None);
    assert_eq!(end(&["/usr/sbin/sshd", "-De"]), None);
    assert_eq!(end(&["/opt/entrypoint.sh", "executor"]), None);
    let skypilot = "set -ex\nSTEPS=(\"apt-ssh-setup\" \"runtime-setup\")\nexit 1\n";
    assert_eq!(end(&["/bin/bash", "-c", "--", skypilot]), None);
}

/// The bytes that the steps of a script print.
fn printed(script: &str) -> (usize, Vec<Step>) {
    let steps = steps(&["bash", "-c", script], &Environment::new()).unwrap();
    let lines = steps.iter().map(|step| match step {
        Step::Print(line) => line.len(),
        _ => 0,
    });
    (lines.sum(), steps)
}

#[test]
fn a_limit_ends_a_script_and_its_output_names_the_limit() {
    let doubling = "x=a; for i in {1..60}; do x=$x$x; done; echo $x";
    let lines = "x=a; for i in {1..15}; do x=$x$x; done; for i in {1..10000}; do echo $x; done";
    let substituted = "x=a; for i in {1..25}; do x=$(echo $x$x); done";
    let words = "x='a a a a a a a a'; for i in {1..25}; do x=\"$x $x\"; done; echo $x $x $x";
    let nested = "for i in {1..9999}; do x=$(for j in {1..9999}; do :; done); done";
    let steps = "for i in {1..9000}; do echo a; sleep 1; echo b; done";
    let limits = ScriptLimits::default();
    let products = "echo {1..9999}{1..9999}{1..9999}";
    let long = format!("echo {{1..9999}}{}", "x".repeat(1 << 20));
    for (limit, script) in [
        ("script-bytes", doubling),
        ("script-bytes", lines),
        ("script-bytes", substituted),
        ("script-bytes", words),
        ("script-bytes", &long),
        ("script-commands", nested),
        ("script-steps", steps),
    ] {
        let (bytes, steps) = printed(script);
        assert!(
            bytes <= limits.bytes && steps.len() <= limits.steps + 2,
            "{limit}"
        );
        let [.., Step::Print(line), Step::Exit(137)] = &steps[..] else {
            panic!("{limit}: {:?}", steps.last());
        };
        assert!(line.contains(&format!("the limit {limit} (")), "{line}");
    }
    assert!(printed(products).0 <= limits.bytes);
}

#[test]
fn scripts_that_run_together_share_their_limits() {
    let limits = ScriptLimits::default();
    assert_eq!(limits.shared_by(4), limits);
    assert_eq!(limits.shared_by(400).commands, 500);
    let script = "for i in {1..1000}; do echo a; done; sleep 5";
    let shared = limits.shared_by(400);
    let words = ["bash", "-c", script];
    let steps = steps_within(&words, &Environment::new(), false, shared).unwrap();
    assert_eq!(steps.last(), Some(&Step::Exit(137)));
    // A job that a script submits has no budget of its own.
    let submit = "for i in {1..99}; do ray job submit -- bash -c 'x=a; for j in {1..22}; do x=$x$x; done'; echo done; done";
    let (_, steps) = printed(submit);
    assert_eq!(steps.last(), Some(&Step::Exit(137)));
}

#[test]
fn nesting_does_not_overflow_the_stack() {
    let many = |text: &str| text.repeat(50_000);
    for script in [
        many("timeout 1 "),
        many("export "),
        format!("[ {} x ]", many("! ")),
        many("! "),
        format!("echo $(({}1))", many("a=")),
        format!("echo $(({}1))", many("-")),
        format!("echo $(({}1))", many("(")),
        many("{a,"),
        many("{"),
        many("$("),
        many("if "),
        many("ray job submit -- "),
        many("bash -c "),
        many("f() "),
    ] {
        let _ = printed(&script);
    }
}

/// Words, operators and expansions of scripts.
const TOKENS: [&str; 76] = [
    "a",
    "b",
    "x=",
    "x=1",
    "x=(1 2)",
    "$x",
    "${x}",
    "${x:-",
    "${x##*",
    "${x/a/",
    "${x:1:",
    "${#x}",
    "$((",
    "))",
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "{1..9}",
    "{a,b}",
    "{",
    "}",
    "(",
    "[",
    "]",
    "[[ ",
    " ]]",
    "((",
    " ",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "||",
    "|",
    ">",
    ">>",
    "<",
    "<<<",
    "<<E\n",
    "\nE\n",
    "!",
    "=",
    "==",
    "-eq",
    "+",
    "-",
    "*",
    "%",
    "/",
    "?",
    "#",
    "~",
    "\\",
    "if ",
    "then ",
    "else ",
    "fi ",
    "for x in ",
    "while ",
    "do ",
    "done ",
    "case a in ",
    "esac ",
    "f() ",
    "return 1 ",
    "exit 3 ",
    "echo ",
    "printf '%d' ",
    "sleep 1 ",
    "seq 3 ",
    "read x ",
    "export ",
    "python3 -c 'import time; time.sleep(1)' ",
];

proptest! {
    #[test]
    fn no_script_panics(tokens in prop::collection::vec(prop::sample::select(&TOKENS), 0..40)) {
        let script = tokens.concat();
        let limits = ScriptLimits::default().shared_by(400);
        for shell in ["sh", "bash"] {
            let _ = steps_within(&[shell, "-c", &script], &Environment::new(), false, limits);
        }
    }
}
