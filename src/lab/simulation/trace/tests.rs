//! Tests of the formats of traces, with small files in their columns.

use kueue_lab_engine::kube::pod_requests::pod_requests;
use kueue_lab_engine::resources::ResourceFormatter;

use super::{ColumnMapping, ReadOptions, Trace, TraceJob, read_trace};

fn read(text: &str) -> Trace {
    read_trace("t", text, &ReadOptions::default()).unwrap()
}

fn refused(text: &str) -> String {
    let refused = read_trace("t", text, &ReadOptions::default());
    refused.unwrap_err().to_string()
}

/// `name queue submitted+duration: COUNTx{requests}`, seconds since the epoch.
fn described(job: &TraceJob) -> String {
    let formatter = ResourceFormatter::default();
    let pod_sets = job.spec.pod_sets.iter().map(|pod_set| {
        let requests = pod_requests(pod_set.template.spec.as_ref().unwrap());
        let mut requests: Vec<String> = requests
            .iter()
            .map(|(name, amount)| format!("{name} {}", formatter.text(name, amount)))
            .collect();
        requests.sort();
        format!("{}x{{{}}}", pod_set.count, requests.join(", "))
    });
    let pod_sets: Vec<String> = pod_sets.collect();
    format!(
        "{} {} {}+{}: {}",
        job.name,
        job.queue,
        job.submitted.as_second(),
        job.duration.as_secs(),
        pod_sets.join(" ")
    )
}

fn jobs(text: &str) -> Vec<String> {
    read(text).jobs.iter().map(described).collect()
}

const OPENB: &str = "\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-1,4000,8192,1,460,,LS,Succeeded,100,400,150
pod-2,500,0,0,0,V100M16|V100M32,BE,Pending,200,260,
";

#[test]
fn pod_lists_of_alibaba_v2023() {
    assert_eq!(
        jobs(OPENB),
        [
            "pod-1 LS 100+250: 1x{cpu 4, memory 8Gi, nvidia.com/gpu 1}",
            "pod-2 BE 200+60: 1x{cpu 500m}",
        ]
    );
    // As data frames write missing values.
    let nan = OPENB.replace("260,\n", "260,nan\n");
    assert_eq!(jobs(&nan)[1], "pod-2 BE 200+60: 1x{cpu 500m}");
}

#[test]
fn the_task_table_of_alibaba_v2020() {
    let header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n";
    let records = "\
b,worker,2.0,Terminated,50.0,90.5,600.0,29.25,50.0,V100
a,tensorflow,1.0,Terminated,10.0,20.0,150.0,1,200.0,MISC
b,ps,1.0,Terminated,40.0,80.0,400.0,,,V100
";
    let expected = [
        "a MISC 10+10: 1x{cpu 1500m, memory 1G, nvidia.com/gpu 2}",
        "b V100 40+50: 2x{cpu 6, memory 29250M, nvidia.com/gpu 1} 1x{cpu 4}",
    ];
    assert_eq!(jobs(records), expected);
    assert_eq!(jobs(&format!("{header}{records}")), expected);
    // A job of 14 CPUs and 1 GPU in three instances; the memory of a task is that of an instance.
    let shared = "\
j,ps,1.0,Terminated,100.0,300.0,600.0,29.296875,0.0,MISC
j,worker,2.0,Terminated,110.0,310.0,400.0,,50.0,MISC
";
    assert_eq!(
        jobs(shared),
        ["j MISC 100+210: 1x{cpu 6, memory 29297M} 2x{cpu 4, nvidia.com/gpu 1}"]
    );
    let running = refused("j,ps,1.0,Running,100.0,,600.0,,0.0,MISC\n");
    assert!(running.starts_with("t:1: end_time is missing"), "{running}");
}

#[test]
fn job_logs_of_helios() {
    let text = "\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,vcA,16,64,2,COMPLETED,1970-01-01 00:01:00,1970-01-01 00:02:00,1970-01-01 00:03:30,90,60
8,u1,vcB,0,1,1,FAILED,1970-01-01 00:01:05,,,33,
9,u2,vcB,4,16,1,CANCELLED,1970-01-01 00:01:10,1970-01-01 00:01:10,1970-01-01 00:05:19,249,0
";
    assert_eq!(
        jobs(text),
        [
            "7 vcA 60+90: 2x{cpu 32, nvidia.com/gpu 8}",
            "8 vcB 65+33: 1x{cpu 1}",
            "9 vcB 70+249: 1x{cpu 16, nvidia.com/gpu 4}",
        ]
    );
}

const PHILLY: &str = r#"[
  {"status": "Pass", "vc": "v", "jobid": "late", "user": "u",
   "submitted_time": "1970-01-01 01:00:00",
   "attempts": [
     {"start_time": "1970-01-01 01:00:10", "end_time": "1970-01-01 01:00:20",
      "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
     {"start_time": "1970-01-01 01:01:00", "end_time": "1970-01-01 01:02:00",
      "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]},
                 {"ip": "m3", "gpus": ["gpu0"]}]}]},
  {"status": "Killed", "vc": "w", "jobid": "early", "user": "u",
   "submitted_time": "1970-01-01 00:00:30",
   "attempts": [{"start_time": "1970-01-01 00:00:40", "end_time": "None", "detail": []}]},
  {"status": "Killed", "vc": "w", "jobid": "running", "user": "u",
   "submitted_time": "1970-01-01 00:00:50",
   "attempts": [{"start_time": "1970-01-01 00:00:55", "end_time": null, "detail": []}]},
  {"status": "Failed", "vc": "w", "jobid": "never", "user": "u",
   "submitted_time": "1970-01-01 00:01:00", "attempts": []}
]"#;

#[test]
fn the_job_log_of_philly() {
    let incomplete = refused(PHILLY);
    assert_eq!(
        incomplete,
        "t:10: an attempt of job early has no start_time or no end_time; skip such jobs with --skip-incomplete"
    );
    let options = ReadOptions {
        skip_incomplete: true,
        ..ReadOptions::default()
    };
    let trace = read_trace("t", PHILLY, &options).unwrap();
    // Without the end of an attempt, and without attempts, as the log has both.
    assert_eq!((trace.skipped, trace.jobs.len()), (3, 1));
    assert_eq!(
        described(&trace.jobs[0]),
        "late v 3600+60: 1x{nvidia.com/gpu 1} 2x{nvidia.com/gpu 2}"
    );
    // With checkpoints, work of earlier attempts is not done again.
    let options = ReadOptions {
        past_runs: true,
        ..options
    };
    let trace = read_trace("t", PHILLY, &options).unwrap();
    assert_eq!(trace.jobs[0].duration.as_secs(), 70);
}

#[test]
fn workloads_of_a_cluster() {
    let condition = |type_: &str, second: u32| {
        format!(
            r#"{{"type": "{type_}", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "1970-01-01T00:00:{second:02}Z"}}"#
        )
    };
    let workload = |name: &str, conditions: &str| {
        format!(
            r#"{{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
"metadata": {{"namespace": "ns", "name": "{name}", "creationTimestamp": "1970-01-01T00:00:05Z"}},
"spec": {{"queueName": "lq", "priority": 7, "podSets": [{{"name": "main", "count": 3, "template": {{"spec": {{"containers":
[{{"name": "c", "resources": {{"requests": {{"cpu": "2"}}}}}}]}}}}}}]}},
"status": {{"accumulatedPastExecutionTimeSeconds": 4, "conditions": [{conditions}]}}}}"#
        )
    };
    let list = |items: &str| format!(r#"{{"kind": "List", "items": [{items}]}}"#);
    let conditions = format!(
        "{}, {}",
        condition("Admitted", 10),
        condition("Finished", 30)
    );
    let trace = read(&list(&workload("a", &conditions)));
    assert_eq!(described(&trace.jobs[0]), "ns/a ns/lq 5+20: 3x{cpu 2}");
    let options = ReadOptions {
        past_runs: true,
        ..ReadOptions::default()
    };
    let continued = read_trace("t", &list(&workload("a", &conditions)), &options).unwrap();
    assert_eq!(continued.jobs[0].duration.as_secs(), 24);
    assert_eq!(trace.jobs[0].spec.priority, Some(7));
    // A recording has one Workload a line.
    let lines =
        [&workload("a", &conditions), &workload("b", &conditions)].map(|wl| wl.replace('\n', " "));
    let names: Vec<String> = jobs(&lines.join("\n"));
    assert_eq!(names[1], "ns/b ns/lq 5+20: 3x{cpu 2}");
    let torn = refused(&format!("{}\n{}", lines[0], &lines[1][..40]));
    assert!(torn.starts_with("t:2: the JSON cannot be read"), "{torn}");
    let running = refused(&list(&workload("a", &condition("Admitted", 10))));
    assert!(
        running.contains("t:1: Workload ns/a is not finished"),
        "{running}"
    );
    let back = format!(
        "{}, {}",
        condition("Admitted", 30),
        condition("Finished", 10)
    );
    let back = refused(&list(&workload("a", &back)));
    assert!(
        back.contains("t:1: Finished 1970-01-01T00:00:10Z is before Admitted"),
        "{back}"
    );
    let old = workload("a", &conditions).replace("v1beta2", "v1beta1");
    let old = refused(&list(&old));
    assert!(
        old.contains("kubectl get workloads.v1beta2.kueue.x-k8s.io"),
        "{old}"
    );
}

const CSV: &str = "\
name,queue,submit_time,duration,priority,pods,cpu,memory,gpu,example.com/nic
a,x,2026-01-01T00:00:00Z,1h30m,5,2,1.5,2Gi,1,1
b,y,2026-01-01 00:00:10,60,-1,,,,,
";

#[test]
fn csv_with_the_columns_of_the_project() {
    let found = jobs(CSV);
    assert_eq!(
        found,
        [
            "a x 1767225600+5400: 2x{cpu 1500m, example.com/nic 1, memory 2Gi, nvidia.com/gpu 1}",
            "b y 1767225610+60: 1x{}",
        ]
    );
    let priorities: Vec<_> = read(CSV).jobs.iter().map(|job| job.spec.priority).collect();
    assert_eq!(priorities, [Some(5), Some(-1)]);
}

#[test]
fn columns_are_mapped() {
    let pairs = [
        "submit_time=arrival",
        "end_time=done",
        "example.com/nic=nics",
    ];
    let columns = ColumnMapping::parse(&pairs.map(str::to_owned)).unwrap();
    let options = ReadOptions {
        columns,
        gpu_resource: "amd.com/gpu".to_owned(),
        ..ReadOptions::default()
    };
    let text = "arrival,done,gpu,nics\n5,8,2,3\n";
    let trace = read_trace("t", text, &options).unwrap();
    assert_eq!(
        described(&trace.jobs[0]),
        "job-2  5+3: 1x{amd.com/gpu 2, example.com/nic 3}"
    );
    assert!(ColumnMapping::parse(&["speed=x".to_owned()]).is_err());
    let absent = read_trace("t", "a,b\n1,2\n", &options)
        .unwrap_err()
        .to_string();
    assert!(
        absent.contains(r#"there is no column "done" for end_time"#),
        "{absent}"
    );
}

fn mapped(text: &str, pairs: &[&str]) -> Result<Trace, String> {
    let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
    let options = ReadOptions {
        columns: ColumnMapping::parse(&pairs).unwrap(),
        ..ReadOptions::default()
    };
    read_trace("t", text, &options).map_err(|error| error.to_string())
}

#[test]
fn two_columns_of_one_resource_are_an_error() {
    let both = "t:1: the columns gpu and nvidia.com/gpu are both the requests for nvidia.com/gpu; remove one of them";
    let text = "submit_time,duration,gpu,nvidia.com/gpu\n0,1,8,3\n";
    assert_eq!(refused(text), both);
    assert_eq!(
        mapped(
            "submit_time,duration,gpu,gpus\n0,1,8,3\n",
            &["nvidia.com/gpu=gpus"]
        )
        .unwrap_err(),
        both.replace("and nvidia.com/gpu", "and gpus")
    );
    let other = text.replace("nvidia.com", "amd.com");
    assert_eq!(
        jobs(&other),
        ["job-2  0+1: 1x{amd.com/gpu 3, nvidia.com/gpu 8}"]
    );
    // A column whose name is mapped to another one is not used.
    let replaced = mapped("submit_time,duration,gpu,gpus\n0,1,8,3\n", &["gpu=gpus"]).unwrap();
    assert_eq!(
        described(&replaced.jobs[0]),
        "job-2  0+1: 1x{nvidia.com/gpu 3}"
    );
    assert_eq!(replaced.unused_columns, ["gpu"]);
    let text = "submit_time,duration,amd.com/gpu,gpus\n0,1,8,3\n";
    let replaced = mapped(text, &["amd.com/gpu=gpus"]).unwrap();
    assert_eq!(replaced.unused_columns, ["amd.com/gpu"]);
}

#[test]
fn times_beside_durations_are_not_used() {
    let header = "submit_time,start_time,end_time,duration\n";
    let trace = read(&format!("{header}0,5,9,60\n"));
    assert_eq!(trace.jobs[0].duration.as_secs(), 60);
    assert_eq!(trace.unused_columns, ["start_time", "end_time"]);
    // They are, if one job has no duration.
    let trace = read(&format!("{header}0,5,9,60\n0,5,9,\n"));
    assert_eq!(trace.jobs[1].duration.as_secs(), 4);
    assert!(trace.unused_columns.is_empty());
}

#[test]
fn columns_of_public_traces_are_not_mapped() {
    assert_eq!(
        mapped(OPENB, &["submit_time=creation_time"]).unwrap_err(),
        "t:1: the format is openb, of which the columns have fixed names; --column is for traces of the format csv"
    );
}

#[test]
fn another_separator_than_a_comma_is_named() {
    for separator in [";", "\t"] {
        let text = "submit_time,duration,cpu\n0,1,2\n".replace(',', separator);
        let named = format!("t:1: the columns are separated by {separator:?}; ").replace('"', "'");
        let found = refused(&text);
        assert!(found.starts_with(&named), "{found}");
    }
}

#[test]
fn errors_are_reported_with_their_line() {
    let replaced = |from: &str, to: &str| refused(&CSV.replace(from, to));
    assert_eq!(
        replaced("1h30m", "soon"),
        r#"t:2: duration "soon" is not a duration; use seconds or units, such as 1h30m"#
    );
    assert_eq!(replaced(",60,", ",-60,"), "t:3: duration -60 is negative");
    let hole = replaced(",60,", ",,");
    assert_eq!(
        hole,
        "t:3: duration is missing; skip such jobs with --skip-incomplete"
    );
    assert_eq!(
        replaced("2026-01-01 00:00:10", "2025-12-31 23:59:59"),
        "t:3: the jobs are not in the order of their submission: b is submitted at 2025-12-31T23:59:59Z, before 2026-01-01T00:00:00Z of line 2; sort them with --sort"
    );
    assert!(replaced("2Gi", "2GB").contains(r#"t:2: memory "2GB" is not a quantity"#));
    assert_eq!(
        replaced(",60,", "60,"),
        "t:3: the line has 9 fields, the header has 10"
    );
    assert_eq!(
        replaced("b,y", "\"b,y"),
        "t:3: a quote in this line does not end"
    );
    assert_eq!(
        replaced(",5,2,", ",5,0,"),
        r#"t:2: pods "0" is not a number of pods"#
    );
    for empty in ["", "\u{feff}", "\n\n"] {
        assert_eq!(refused(empty), "t:1: the file is empty");
    }
    assert_eq!(
        refused("submit_time,duration,gpu,gpu\n0,1,1,2\n"),
        "t:1: the column gpu occurs twice"
    );
    assert_eq!(
        refused("submit_time,duration\n"),
        "t:1: the trace has no jobs"
    );
    let back = OPENB.replace("400,150", "140,150");
    assert!(refused(&back).contains("t:2: deletion_time "));
    let json = refused("[{\"jobid\": 1}]");
    assert!(json.starts_with("t:1: it is not a job of Philly"), "{json}");
    assert!(refused("{\n\"items\": [").starts_with("t:2: the JSON cannot be read"));
}

/// As data tools write files: with a byte order mark, an index without a name, and floats.
#[test]
fn exports_of_data_tools() {
    let text = "\u{feff},submit_time,duration,pods,priority,\n0,0,nan,NaN,5.0,\n";
    let hole = refused(text);
    assert!(hole.starts_with("t:2: duration is missing"), "{hole}");
    let trace = read(&text.replace("0,0,nan", "0,0,60"));
    assert_eq!(described(&trace.jobs[0]), "job-2  0+60: 1x{}");
    assert_eq!(trace.jobs[0].spec.priority, Some(5));
    assert_eq!(trace.unused_columns, [""; 0]);
    let half = refused(&text.replace("0,0,nan", "0,0,60").replace("5.0", "5.5"));
    assert_eq!(half, r#"t:2: priority "5.5" is not a priority"#);
    let json = "\u{feff}[{\"jobid\": 1}]";
    assert!(refused(json).starts_with("t:1: it is not a job of Philly"));
}

#[test]
fn unused_columns_are_known() {
    let text = "submit_time,duration,gpus,user,example.com/nic\n0,60,4,u,1\n";
    let trace = read(text);
    assert_eq!(trace.unused_columns, ["gpus", "user"]);
    assert!(trace.absent_columns.contains(&"gpu"));
    let columns = ColumnMapping::parse(&["gpu=gpus".to_owned()]).unwrap();
    let options = ReadOptions {
        columns,
        ..ReadOptions::default()
    };
    let trace = read_trace("t", text, &options).unwrap();
    assert_eq!(trace.unused_columns, ["user"]);
    assert!(!trace.absent_columns.contains(&"gpu"));
    let twice = ["gpu=a", "gpu=b"].map(str::to_owned);
    assert!(ColumnMapping::parse(&twice).is_err());
}

/// A job is skipped with all its tasks.
#[test]
fn incomplete_tasks_skip_their_job() {
    let text = "\
job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type
a,ps,1,Terminated,0,100,100,1,0,CPU
a,worker,8,Failed,0,,100,1,100,V100
a,chief,,Terminated,0,100,100,1,100,V100
b,worker,1,Terminated,0,100,100,1,100,V100
,worker,1,Terminated,0,100,100,1,100,V100
";
    let options = ReadOptions {
        skip_incomplete: true,
        ..ReadOptions::default()
    };
    let trace = read_trace("t", text, &options).unwrap();
    let names: Vec<&str> = trace.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!((names, trace.skipped), (vec!["b"], 2));
    let hole = refused(text);
    assert!(hole.starts_with("t:3: end_time is missing"), "{hole}");
    let hole = refused(&text.replace("0,,100", "0,9,100"));
    assert!(hole.starts_with("t:4: inst_num is missing"), "{hole}");
}

#[test]
fn jobs_can_be_sorted() {
    let text = "name,submit_time,duration\nlate,20,1\nearly,10,1\n";
    let options = ReadOptions {
        sort: true,
        ..ReadOptions::default()
    };
    let trace = read_trace("t", text, &options).unwrap();
    let names: Vec<&str> = trace.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["early", "late"]);
}
