//! Programs and their output. The expected outputs are those of gawk and mawk.

use super::interpreter::{Flow, Interpreter};
use super::parser::parse;

const TABLE: &str = "NAME READY STATUS\npod-a 1/1 Running\npod-b 0/1 Pending\n";

/// The output, or the error.
fn run(program: &str, input: &str) -> Result<String, String> {
    let program = parse(program).map_err(|error| error.to_string())?;
    let mut interpreter = Interpreter::new(&program);
    let mut flow = interpreter.begin();
    if flow.is_ok() {
        flow = interpreter.file("f", input);
    }
    if !matches!(flow, Err(Flow::Error(_))) {
        flow = interpreter.end();
    }
    match flow {
        Err(Flow::Error(error)) => Err(error),
        _ => Ok(interpreter.out),
    }
}

#[test]
fn common_programs() {
    for (program, input, expected) in [
        ("{print $1}", TABLE, "NAME\npod-a\npod-b\n"),
        (
            "NR>1 {print $1, $NF}",
            TABLE,
            "pod-a Running\npod-b Pending\n",
        ),
        ("/Running/", TABLE, "pod-a 1/1 Running\n"),
        ("!/NAME/ && $3 != \"Running\" {print $1}", TABLE, "pod-b\n"),
        ("END{print NR}", TABLE, "3\n"),
        ("BEGIN{FS=\":\"} {print $2}", "a:b:c\n", "b\n"),
        ("{s+=$1} END{print s, s/NR}", "1\n2\n4.5\n", "7.5 2.5\n"),
        (
            "{c[$1]++} END{for (k in c) print k, c[k]}",
            "a\nb\na\n",
            "a 2\nb 1\n",
        ),
        (
            "{printf \"%-5s|%5.1f|%03d\\n\", $1, $2, $3}",
            "x 1.25 7\n",
            "x    |  1.2|007\n",
        ),
        ("NR==2,NR==3", "1\n2\n3\n4\n", "2\n3\n"),
        ("{$2=\"\"; print}", "a b c\n", "a  c\n"),
        ("BEGIN{OFS=\"-\"} {$1=$1; print}", "a b c\n", "a-b-c\n"),
        (
            "{gsub(/o/, \"[&]\"); print; print gsub(/x/, \"\")}",
            "foo\n",
            "f[o][o]\n0\n",
        ),
        (
            "{n=split($0, a, \",\"); print n, a[1] a[n]}",
            "x,y,z\n",
            "3 xz\n",
        ),
        (
            "{print length($0), length, substr($0, 2, 3), index($0, \"c\")}",
            "abcde\n",
            "5 5 bcd 3\n",
        ),
        (
            "{print toupper($1) \" \" tolower($2)}",
            "aB Cd\n",
            "AB cd\n",
        ),
        (
            "{if ($1 > 10) print \"big\"; else print \"small\"}",
            "9\n11\n",
            "small\nbig\n",
        ),
        (
            "BEGIN{for (i=1; i<=3; i++) { if (i==2) continue; print i }}",
            "",
            "1\n3\n",
        ),
        (
            "BEGIN{i=3; while (i-->0) printf \"%d \", i; print \"\"}",
            "",
            "2 1 0 \n",
        ),
        (
            "BEGIN{print 1e6, 0.1+0.2, 1/3, 100000000, -3 % 2, 2^10}",
            "",
            "1000000 0.3 0.333333 100000000 -1 1024\n",
        ),
        (
            "BEGIN{print \"10\" < \"9\", 10 < 9, substr(\"hello\", 0, 3)}",
            "",
            "1 0 he\n",
        ),
        ("$1 == 10", "10\n10.0\nten\n", "10\n10.0\n"),
        (
            "match($0, /[0-9]+/) {print RSTART, RLENGTH, substr($0, RSTART, RLENGTH)}",
            "ab123c\n",
            "3 3 123\n",
        ),
        (
            "BEGIN{x[\"a\",1]=5; if ((\"a\",1) in x) print x[\"a\",1]; delete x[\"a\",1]; print (\"a\",1) in x}",
            "",
            "5\n0\n",
        ),
        (
            "{print ($1 ~ /^a/) ? \"yes\" : \"no\"}",
            "ab\nba\n",
            "yes\nno\n",
        ),
        (
            "{ next } { print }  END { print \"done\" }",
            "a\n",
            "done\n",
        ),
        ("{ exit } END { print NR }", "a\nb\n", "1\n"),
        ("BEGIN { printf(\"%s %c%%\\n\", \"a\", 65) }", "", "a A%\n"),
        (
            "BEGIN { print length(\"é\"), -\"3x\", !0, 1==1.0 }",
            "",
            "1 -3 1 1\n",
        ),
        ("{ print NF; NF=2; print $0 }", "a b c\n", "3\na b\n"),
        (
            "# comment\n{ a = a $1 }\nEND { print a }\n",
            "x\ny\n",
            "xy\n",
        ),
        (
            "BEGIN{RS=\"\"} {print NR\": \"$1}",
            "a\nb\n\n\nc\n",
            "1: a\n2: c\n",
        ),
        ("{ print > \"/dev/stdout\" }", "a\n", "a\n"),
        (
            "{ sum += $2 } END { if (NR) print sum / NR }",
            "a 2\nb 4\n",
            "3\n",
        ),
    ] {
        assert_eq!(run(program, input).as_deref(), Ok(expected), "{program}");
    }
}

#[test]
fn unsupported_features_are_refused() {
    for (program, error) in [
        ("function f(x) { return x }", "functions are not supported"),
        ("{ getline }", "getline is not supported"),
        ("{ print > \"file\" }", "output to files is not supported"),
        (
            "BEGIN { system(\"ls\") }",
            "the function system is not supported",
        ),
        ("BEGIN { print 1/0 }", "division by zero"),
        ("BEGIN { while (1) {} }", "the program runs too long"),
        (
            "BEGIN { x = \"a\"; while (1) x = x x }",
            "a string is too large",
        ),
        (
            "{ print",
            "syntax error at the end of the program: \"}\" is missing",
        ),
        ("BEGIN { print \"a }", "unterminated string"),
        ("BEGIN { $(-1) = 2 }", "invalid field index -1"),
    ] {
        assert_eq!(run(program, "x\n").unwrap_err(), error, "{program}");
    }
    let nested = format!("BEGIN {{ x = {}1{} }}", "(".repeat(500), ")".repeat(500));
    let error = run(&nested, "").unwrap_err();
    assert_eq!(error, "the program is nested too deeply");
}
