//! Commands of clients such as SkyPilot's.

use crate::tests::{container, exec_with};

#[tokio::test]
async fn bash_has_arrays() {
    let container = container();
    for (script, expected) in [
        (
            "a=(\"x y\" z); echo ${a[1]} ${a[-2]} ${#a[@]} $a",
            "z x y 2 x y\n",
        ),
        (
            "a=(1 'b c'); for e in \"${a[@]}\"; do echo \"<$e>\"; done",
            "<1>\n<b c>\n",
        ),
        (
            "a=(); a+=(q r); a[5]=s; i=4; echo ${a[@]} ${a[i+1]} ${#a[*]}",
            "q r s s 3\n",
        ),
        ("a=(1 2); a=text; echo ${a[0]} ${a[1]-none}", "text none\n"),
        (
            "a=(\n  one\n  two\n); echo \"${a[*]}\"; unset a; echo ${#a[@]}",
            "one two\n0\n",
        ),
        ("v=x; v+=y; echo $v ${v[0]}; echo a[1]=b", "xy xy\na[1]=b\n"),
        ("f=/a/b.txt; p=($f); echo ${p[0]##*/}", "b.txt\n"),
    ] {
        let (code, output, error) = exec_with(&container, &["bash", "-c", script], &[]).await;
        assert_eq!(
            (code, output.as_str(), error.as_str()),
            (0, expected, ""),
            "{script}"
        );
    }
    let (_, output, _) = exec_with(&container, &["sh", "-c", "a=1; echo ${a}[0]"], &[]).await;
    assert_eq!(output, "1[0]\n");
}

#[tokio::test]
async fn subshells_may_start_a_subshell() {
    let container = container();
    let script = "((echo a; echo b) | tail -n 1; (echo c)); ((x = 1 + (2 * 3))); echo $x";
    let (code, output, error) = exec_with(&container, &["bash", "-c", script], &[]).await;
    assert_eq!(
        (code, output.as_str(), error.as_str()),
        (0, "b\nc\n7\n", "")
    );
}

#[tokio::test]
async fn programs_run_others_with_another_directory_or_user() {
    let container = container();
    let script =
        "sudo -E env -u INDEX -C /tmp bash -c 'pwd; echo ${INDEX-none}'; env -C /none true";
    let (code, output, error) = exec_with(&container, &["bash", "-c", script], &[]).await;
    assert_eq!((code, output.as_str()), (125, "/tmp\nnone\n"));
    assert!(
        error.contains("cannot change directory to '/none'"),
        "{error}"
    );
}

#[tokio::test]
async fn rsync_receives_files() {
    let container = container();
    let command = ["rsync", "--server", "-rH", ".", "/tmp"];
    let (code, _, error) = exec_with(&container, &command, &[]).await;
    assert_eq!(
        (code, error.as_str()),
        (4, "rsync: option -H is not supported\n")
    );
    // A client that ends after its version.
    let command = ["rsync", "--server", "-re.LsfxCI", ".", "/tmp"];
    let (code, output, error) = exec_with(&container, &command, &[&31_u32.to_le_bytes()]).await;
    assert_eq!(
        (code, error.as_str()),
        (12, "rsync: connection unexpectedly closed\n")
    );
    assert!(output.starts_with('\u{1f}'));
}

#[tokio::test]
async fn daemons_end_with_the_container() {
    let container = container();
    let (sender, ended) = tokio::sync::oneshot::channel::<()>();
    let daemon = async move {
        let _sender = sender;
        std::future::pending::<()>().await;
    };
    assert!(container.spawn(daemon).is_some());
    container.stop();
    assert!(ended.await.is_err());
}
