//! The output of a script in `exec` is the one that is derived for `kubectl logs`.

use crate::tests::{container, exec_merged};
use crate::{Environment, steps};
use kueue_lab_container_program::Step;

/// Scripts of every kind of command that both know, and their output.
const SCRIPTS: [(&str, &str); 59] = [
    (
        "printf '%5d|%-5s|%05.1f\\n' 42 ab 3.14159",
        "   42|ab   |003.1\n",
    ),
    ("printf '%s=%s\\n' a 1 b 2", "a=1\nb=2\n"),
    ("printf '%x %o %c %q\\n' 255 8 xyz 'a b'", "ff 10 x 'a b'\n"),
    ("printf '%+d %e\\n' 7 12345.678", "+7 1.234568e+04\n"),
    ("printf '%.3s|%*d\\n' abcdef 6 7", "abc|     7\n"),
    ("printf 'a\\tb\\n%%\\n'", "a\tb\n%\n"),
    ("printf abc; echo d", "abcd\n"),
    ("echo -n a; echo -n b; echo c", "abc\n"),
    ("echo -e 'a\\nb'", "a\nb\n"),
    (
        "x=/a/b/c.tar.gz; echo ${x#*/} ${x##*/} ${x%.*} ${x%%.*}",
        "a/b/c.tar.gz c.tar.gz /a/b/c.tar /a/b/c\n",
    ),
    (
        "x=hello; echo ${#x} ${x:-no} ${y:-no} ${y:=set} $y ${x:+alt}",
        "5 hello no set set alt\n",
    ),
    (
        "x=; echo \"[${x-unset}] [${x:-empty}] [${z-unset}]\"",
        "[] [empty] [unset]\n",
    ),
    (
        "x=$(echo one; echo two); echo \"$x\"; echo $x",
        "one\ntwo\none two\n",
    ),
    (
        "test -f /etc/hostname-missing && echo yes || echo no",
        "no\n",
    ),
    ("test -d /tmp && [ -e /etc ] && echo yes", "yes\n"),
    ("[ ! -d /nowhere -a -n x ] && echo yes", "yes\n"),
    ("[ 1 -lt 2 -o a = b ] && [ 3 -ge 3 ] && echo yes", "yes\n"),
    ("[ a != a ] || echo different", "different\n"),
    (
        "echo text > /tmp/f; [ -f /tmp/f ] && [ -s /tmp/f ] && echo written",
        "written\n",
    ),
    ("{ echo a; echo b; } > /dev/null; echo c", "c\n"),
    (
        "for x in a b c; do [ $x = b ] && continue; echo $x; done",
        "a\nc\n",
    ),
    (
        "for x in 1 2 3; do echo $x; [ $x = 2 ] && break; done",
        "1\n2\n",
    ),
    (
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); echo $i; done",
        "1\n2\n3\n",
    ),
    (
        "i=3; until [ $i -eq 0 ]; do echo $i; i=$((i - 1)); done",
        "3\n2\n1\n",
    ),
    (
        "case abc in a*) echo starts;; *) echo other;; esac",
        "starts\n",
    ),
    ("case x in a|b) echo ab;; [x-z]) echo xyz;; esac", "xyz\n"),
    (
        "case \"*\" in '*') echo star;; esac; case q in a) echo a;; esac; echo $?",
        "star\n0\n",
    ),
    (
        "f() { echo \"$1 of $#\"; return 3; echo never; }; f a b; echo $?",
        "a of 2\n3\n",
    ),
    (
        "(exit 4); echo $?; (x=1; echo $x); echo \"[$x]\"",
        "4\n1\n[]\n",
    ),
    ("false; echo $?; ! true; echo $?", "1\n1\n"),
    (
        "true && echo a || echo b; false && echo c || echo d",
        "a\nd\n",
    ),
    (
        "set -e; false || echo kept; if false; then echo x; fi; echo end",
        "kept\nend\n",
    ),
    ("set -e; echo before; false; echo after", "before\n"),
    ("seq 2 2 6; echo $((7 / 2 + 3 * 2))", "2\n4\n6\n9\n"),
    ("sh -c 'echo inner; exit 5'; echo $?", "inner\n5\n"),
    ("x=a; unset x; echo \"[${x-gone}]\"", "[gone]\n"),
    ("echo a; exit 3; echo b", "a\n"),
    ("read line; echo \"$? [$line]\"", "1 []\n"),
    ("x=5; cat <<EOF\nx is $x\nEOF\necho end", "x is 5\nend\n"),
    ("nope; echo $?", "sh: 1: nope: not found\n127\n"),
    ("nope", "sh: 1: nope: not found\n"),
    (
        "set -e; nope --version; echo never",
        "sh: 1: nope: not found\n",
    ),
    (
        "nope || echo fallback",
        "sh: 1: nope: not found\nfallback\n",
    ),
    (
        "command -v nope || echo none; command -v echo",
        "none\n/bin/echo\n",
    ),
    ("pip install torch && python3 train.py; echo $?", "0\n"),
    ("python3 -c 'print(\"hi\")'; echo $?", "hi\n0\n"),
    ("echo out; echo err >&2; echo last", "out\nerr\nlast\n"),
    (
        "cat /tmp/missing; echo $?",
        "cat: /tmp/missing: No such file or directory\n1\n",
    ),
    (
        "echo a > /tmp/g; echo b >> /tmp/g; cat /tmp/g; wc -l < /tmp/g",
        "a\nb\n2\n",
    ),
    (
        "seq 1 5 | grep 3; seq 1 5 | head -n 2; seq 3 | tail -n 1",
        "3\n1\n2\n3\n",
    ),
    ("yes | head -n 2", "y\ny\n"),
    (
        "seq 150 | while read n; do last=$n; [ $n = 150 ] && echo $n; done; echo \"[$last]\"",
        "150\n[]\n",
    ),
    ("echo 'b a' | tr ' ' '\\n' | sort | sed s/a/c/", "c\nb\n"),
    (
        "echo x y z | awk '{print $2}'; echo A | tr A-Z a-z",
        "y\na\n",
    ),
    (
        "set -u; echo ${x:-ok}; echo $missing; echo never",
        "ok\nsh: 1: missing: parameter not set\n",
    ),
    (
        "sleep 0.1 & echo first; wait; echo second",
        "first\nsecond\n",
    ),
    ("timeout 0.1 sleep 5; echo $?", "124\n"),
    ("if then fi", "sh: 1: Syntax error: \"then\" unexpected\n"),
    (
        "ls /tmp/nowhere; mkdir -p /tmp/d/e; ls /tmp/d",
        "ls: cannot access '/tmp/nowhere': No such file or directory\ne\n",
    ),
];

/// Scripts of `bash`.
const BASH_SCRIPTS: [(&str, &str); 8] = [
    (
        "x=abcabc; echo ${x/b/-} ${x//b/-} ${x:1:2} ${x: -2}",
        "a-cabc a-ca-c bc bc\n",
    ),
    ("[[ abc == a* && ! abc == b* ]] && echo match", "match\n"),
    (
        "[[ -n $HOME || x == y ]] && [[ v1.2 =~ ^v[0-9] ]] && echo regex",
        "regex\n",
    ),
    ("for ((i = 0; i < 3; i++)); do echo $i; done", "0\n1\n2\n"),
    ("echo {a,b}{1..2}", "a1 a2 b1 b2\n"),
    (
        "i=1; ((i += 4)); echo $i; ((i > 9)) || echo small",
        "5\nsmall\n",
    ),
    (
        "nope; echo $?",
        "bash: line 1: nope: command not found\n127\n",
    ),
    (
        "x=(a b c); echo ${x[1]} ${#x[@]} \"${x[@]}\"",
        "b 3 a b c\n",
    ),
];

#[tokio::test]
async fn scripts_print_the_same_in_logs_and_in_exec() {
    let container = container();
    let mut wrong = Vec::new();
    let scripts = SCRIPTS.iter().map(|script| ("sh", script));
    let scripts = scripts.chain(BASH_SCRIPTS.iter().map(|script| ("bash", script)));
    for (shell, (script, expected)) in scripts {
        let command = [shell, "-c", *script];
        // The log has both outputs, in the order in which they are written.
        let (code, executed) = exec_merged(&container, &command).await;
        let environment = Environment::from([("HOME".into(), "/root".into())]);
        let mut derived = String::new();
        let mut derived_code = 0;
        for step in steps(&command, &environment).unwrap() {
            match step {
                Step::Print(line) => derived.push_str(&format!("{line}\n")),
                Step::Exit(code) => derived_code = code,
                _ => {}
            }
        }
        if executed != *expected || derived != *expected || code != derived_code {
            wrong.push(format!(
                "{script}\n  expected {expected:?}\n  executed {executed:?} {code}\n  derived  {derived:?} {derived_code}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
