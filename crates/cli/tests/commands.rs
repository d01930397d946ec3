//! Every command with good and bad input: results, messages, exit codes.
#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are renewed by a program")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::fs;

use expect_test::expect;
use support::{isoscope, isoscope_with_input};
use tempfile::TempDir;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, content) in files {
        fs::write(directory.path().join(name), content).unwrap();
    }
    directory
}

const SMALL: &str = "w(1,7,0,1)\nr(1,7,1,2)\nr(2,0,1,2)\n";

#[test]
fn invalid_usage_exits_with_254_and_help_with_0() {
    let d = directory(&[]);
    for args in [
        "",
        "stats",
        "nonsense",
        "stats --format nonsense x",
        "--threads 0 formats",
        "-q -v formats",
        "-v formats -q",
    ] {
        assert_eq!(isoscope(d.path(), args).code, 254, "{args}");
    }
    for args in ["--help", "-h", "--version", "stats --help", "generate -h"] {
        let run = isoscope(d.path(), args);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{args}");
    }
    assert!(isoscope(d.path(), "stat x").err.contains("'stats'"), "did-you-mean");
}

/// Issue 12, 16.
#[test]
fn help_takes_a_command() {
    let d = directory(&[]);
    for command in ["check", "test", "generate"] {
        let run = isoscope(d.path(), &format!("help {command}"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{command}");
        assert_eq!(run.out, isoscope(d.path(), &format!("{command} --help")).out, "{command}");
    }
    assert_eq!(isoscope(d.path(), "help nonsense").code, 254);
    let check = isoscope(d.path(), "help check").out;
    assert!(check.contains("[default: 60s for each level]"), "{check}");
}

/// Options with a set of names complete them, and still parse values such as `lost-update=2`. Issue 12, 16.
#[test]
fn names_of_values_are_completed() {
    let d = directory(&[]);
    let script = isoscope(d.path(), "completions bash").out;
    for (option, values) in [
        ("--isolation", "read-committed read-uncommitted"),
        ("--inject", "lost-update write-skew"),
        ("--fault", "kill pause restart"),
    ] {
        let completed =
            |part: &str| part.starts_with(')') && part.chars().take(400).collect::<String>().contains(values);
        assert!(script.split(option).any(completed), "{option}");
    }
    let run = isoscope(d.path(), "generate --inject lost-update=2 --seed 1 --txns 2 --sessions 2");
    assert_eq!(run.code, 0, "{}", run.err);
    let run = isoscope(d.path(), "generate --inject phantom-of-the-opera --seed 1");
    assert!(run.code == 254 && run.err.contains("these can be injected"), "{}", run.err);
    let run = isoscope(d.path(), "test --fault kill=soon");
    assert!(run.code == 254 && run.err.contains("is not a duration"), "{}", run.err);
    let run = isoscope(d.path(), "test --isolation nonsense");
    assert!(run.code == 254 && run.err.contains("nonsense"), "{}", run.err);
}

#[test]
fn stats_describes_a_history() {
    let d = directory(&[("h.txt", SMALL)]);
    let run = isoscope(d.path(), "stats h.txt");
    assert_eq!(run.code, 0);
    assert!(
        run.out.contains("operations                 3   1.5 per transaction, from 1 to 2"),
        "{}",
        run.out
    );
    assert_eq!(run.err, "warning: 1 key read but never written; taken as initial\n");
    assert_eq!(isoscope(d.path(), "-q stats h.txt").err, "");
    let run = isoscope(d.path(), "stats --format concise h.txt");
    assert_eq!(run.out, "h.txt: 2 sessions, 2 transactions, 3 operations, 2 keys, 66.7 % reads\n");
}

#[test]
fn stats_has_a_json_form() {
    let d = directory(&[("h.txt", SMALL), ("bad.txt", "w(1\n")]);
    let one: serde_json::Value =
        serde_json::from_str(&isoscope(d.path(), "stats --format json h.txt").out).unwrap();
    assert_eq!(one["file"], "h.txt");
    assert_eq!(one["format"], "plume");
    assert_eq!(one["outcomes"]["committed"], 2);
    assert_eq!(one["problems"][0]["severity"], "warning");
    let several = isoscope(d.path(), "-q stats --format jsonl bad.txt h.txt");
    assert_eq!(several.code, 255);
    let lines: Vec<serde_json::Value> =
        several.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["problems"][0]["line"], 1);
    assert_eq!(lines[0]["problems"][0]["column"], 4);
    assert_eq!(lines[1]["operations"], 3, "the readable file is still reported");
}

#[test]
fn problems_point_into_the_file() {
    let d = directory(&[("bad.txt", "w(1,1,0,1)\nx(1,2,3,4)\nr(1,1,0,\n")]);
    let run = isoscope(d.path(), "stats bad.txt");
    assert_eq!((run.code, run.out.as_str()), (255, ""));
    expect![[r#"
        error: unexpected `x`
         --> bad.txt:2:1
          |
        2 | x(1,2,3,4)
          | ^ expected an event such as r(key,value,session,txn) or w(key,value,session,txn)
        error: the line ends inside an event
         --> bad.txt:3:9
          |
        3 | r(1,1,0,
          |         ^ expected an unsigned number
    "#]]
    .assert_eq(&run.err);
}

#[test]
fn unreadable_input_exits_with_255_and_a_reason() {
    let d = directory(&[("empty", ""), ("text", "hello\n"), ("binary", "\0\u{1}\0\u{1}\0\0\0")]);
    fs::create_dir(d.path().join("dir")).unwrap();
    for (file, why) in [
        ("missing", "cannot read missing: No such file"),
        ("empty", "empty is empty"),
        ("text", "the format of text was not recognised"),
        ("binary", "binary is binary data in no known format"),
        ("dir", "the directory dir holds no history"),
    ] {
        let run = isoscope(d.path(), &format!("stats {file}"));
        assert_eq!(run.code, 255, "{file}");
        assert!(run.err.contains(why), "{file}: {}", run.err);
    }
    assert_eq!(isoscope(d.path(), "stats --from plume empty").code, 0, "an empty Plume file is a warning");
}

#[test]
fn standard_input_and_compression_are_transparent() {
    let d = directory(&[("h.txt", SMALL)]);
    let plain = isoscope(d.path(), "-q stats h.txt").out;
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&isoscope_with_input(d.path(), "-q stats -", SMALL.as_bytes()).out), lines(&plain));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, SMALL.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    assert_eq!(lines(&isoscope_with_input(d.path(), "-q stats -", &gzip).out), lines(&plain));
    let zstd =
        ruzstd::encoding::compress_to_vec(SMALL.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    fs::write(d.path().join("h.zst"), zstd).unwrap();
    assert_eq!(lines(&isoscope(d.path(), "-q stats h.zst").out), lines(&plain));
    let truncated = isoscope_with_input(d.path(), "stats -", &gzip[..gzip.len() - 9]);
    assert_eq!(truncated.code, 255);
    assert!(truncated.err.contains("cannot read <stdin>"), "{}", truncated.err);
    let bad = isoscope_with_input(d.path(), "stats -", b"w(1,1,0,1)\nw(1,x,0,1)\n");
    assert!(bad.err.contains("<stdin>:2:5") && bad.err.contains("2 | w(1,x,0,1)"), "{}", bad.err);
}

#[test]
fn convert_writes_whole_files_or_none_and_reports_losses() {
    let d = directory(&[("h", "T1: w(x,1)  T2?: r(x,1)  T3: a(l,1)"), ("r", "T1@0-1: w(x,1)  T2?: w(x,2)")]);
    let run = isoscope(d.path(), "convert h -o out.txt");
    assert_eq!(run.code, 254);
    assert!(run.err.contains("the format `plume` cannot express lists"), "{}", run.err);
    assert_eq!(fs::read_dir(d.path()).unwrap().count(), 2, "nothing is left behind");
    let run = isoscope(d.path(), "convert r -o out.txt");
    assert_eq!(
        (run.code, fs::read_to_string(d.path().join("out.txt")).unwrap().as_str()),
        (0, "w(0,1,1,1)\n")
    );
    assert!(run.err.contains("note: lost in plume: unread transactions of unknown outcome left out (1)"));
    assert!(run.err.contains("note: lost in plume: the real-time order of transactions"), "{}", run.err);
    assert_eq!(isoscope(d.path(), "convert r -o there/is/none.txt").code, 255);
    assert_eq!(isoscope(d.path(), "convert r -o out.what").code, 254);
    assert_eq!(isoscope(d.path(), "convert r --to viper").code, 254);
    assert_eq!(isoscope(d.path(), "convert r --to cobra").code, 254);
    assert_eq!(isoscope(d.path(), "convert missing --to plume").code, 255);
}

#[test]
fn every_writable_format_round_trips_a_generated_history() {
    let d = directory(&[]);
    let generate = "generate --sessions 3 --txns 5 --seed 1 -o h.jsonl --aborts 0.1";
    assert_eq!(isoscope(d.path(), generate).code, 0);
    let formats = isoscope(d.path(), "formats").out;
    let writable = formats.lines().skip(1).filter(|line| line.contains(" r/w "));
    let names: Vec<&str> = writable.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 9, "{formats}");
    for name in names {
        let run = isoscope(d.path(), &format!("convert h.jsonl --to {name} -o out-{name}"));
        assert_eq!(run.code, 0, "{name}: {}", run.err);
        let stats = isoscope(d.path(), &format!("-q stats --format json out-{name}")).out;
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["format"], name);
        assert!(stats["outcomes"]["committed"].as_u64().unwrap() >= 10, "{name}: {stats}");
    }
}

#[test]
fn generate_depends_only_on_its_options() {
    let d = directory(&[]);
    let args = "generate --sessions 2 --txns 3 --level si --to notation --inject write-skew=2 --seed";
    let one = isoscope(d.path(), &format!("{args} 1"));
    assert_eq!(one.code, 0);
    assert_eq!(one.out, isoscope(d.path(), &format!("{args} 1")).out);
    assert_ne!(one.out, isoscope(d.path(), &format!("{args} 2")).out);
    assert!(
        isoscope(d.path(), "generate --to notation").err.contains("note: --seed "),
        "a random seed is printed"
    );
    for bad in [
        "--keys 0",
        "--reads 1.5",
        "--reads nan",
        "--inject nonsense",
        "--level nonsense",
        "--distribution zipfian:x",
        "--duplicates 2",
        "--shape list-append --duplicates 0.5",
    ] {
        assert_eq!(isoscope(d.path(), &format!("generate {bad}")).code, 254, "{bad}");
    }
}

#[test]
fn the_manual_and_completions_cover_every_command() {
    let d = directory(&[]);
    let page = isoscope(d.path(), "man").out;
    assert!(page.starts_with(".ie") && page.contains("isoscope"), "{page}");
    assert_eq!(isoscope(d.path(), "man --dir man").code, 0);
    assert!(d.path().join("man/isoscope-generate.1").is_file());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(isoscope(d.path(), &format!("completions {shell}")).out.contains("convert"), "{shell}");
    }
}

#[test]
fn colours_need_a_terminal_or_a_flag() {
    let d = directory(&[("h.txt", SMALL)]);
    assert!(!isoscope(d.path(), "stats h.txt").out.contains('\u{1b}'));
    assert!(isoscope(d.path(), "stats h.txt --color always").out.contains('\u{1b}'));
}

/// A pipe that is closed early is not an error.
#[test]
fn a_closed_pipe_is_not_a_failure() {
    let d = directory(&[]);
    let script =
        format!("'{}' generate --txns 20000 --seed 1 2>&1 | head -n 1", env!("CARGO_BIN_EXE_isoscope"));
    let output =
        std::process::Command::new("sh").args(["-c", &script]).current_dir(d.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(!text.contains("error"), "{text}");
}

/// Pipes and devices can be opened only once. A link is written through and stays a link.
#[test]
#[cfg(unix)]
fn pipes_are_read_whole_and_links_are_written_through() {
    let d = directory(&[("h.txt", SMALL), ("target.txt", "")]);
    let script = |text: &str| {
        let bin = env!("CARGO_BIN_EXE_isoscope");
        let text = text.replace("isoscope", &format!("'{bin}'"));
        let output =
            std::process::Command::new("sh").args(["-c", &text]).current_dir(d.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let piped = script("mkfifo p; cat h.txt > p & isoscope -q stats --format concise p");
    assert_eq!(piped, "p: 2 sessions, 2 transactions, 3 operations, 2 keys, 66.7 % reads\n");
    let output = script("cat h.txt | isoscope -q stats --format concise /dev/stdin");
    assert!(output.contains("3 operations"), "{output}");
    script("ln -s target.txt link.txt; isoscope -q convert h.txt -o link.txt");
    assert!(d.path().join("link.txt").is_symlink());
    assert!(fs::read_to_string(d.path().join("target.txt")).unwrap().contains("w(1,7,"));
}

/// Contradictory input is an error. Earlier versions accepted each of these or changed it silently.
#[test]
fn contradictions_are_errors() {
    let d = directory(&[
        ("twice.edn", "{:type :ok :type :fail :process 0 :value [[:w 1 1]]}\n"),
        ("initials.jsonl", "{\"isoscope\":\"history\",\"version\":1,\"initials\":[[1,2],[1,3]]}\n"),
        (
            "events.jsonl",
            "{\"isoscope\":\"history\",\"version\":1}\n{\"session\":0,\"ops\":[],\"events\":[5,3]}\n",
        ),
        ("words.txt", "y\ny\n"),
    ]);
    for (file, place) in [
        ("twice.edn", "twice.edn:1:12"),
        ("initials.jsonl", "initials.jsonl:1:"),
        ("events.jsonl", "events.jsonl:2:"),
    ] {
        let run = isoscope(d.path(), &format!("stats {file}"));
        assert_eq!(run.code, 255, "{file}");
        assert!(run.err.contains(place), "{}", run.err);
    }
    let endless = "y\n".repeat(30 << 20);
    assert_eq!(isoscope_with_input(d.path(), "stats --from edn -", endless.as_bytes()).code, 255);
}

#[test]
fn a_jepsen_directory_may_hold_other_files() {
    let d = directory(&[("history.edn", "{:type :ok :process 0 :value [[:w 1 1]]}\n"), ("T0.log", "S")]);
    assert!(isoscope(d.path(), "stats .").out.contains("Jepsen"));
}

/// Losses are reported. Earlier versions changed or lost each of these silently.
#[test]
fn every_change_is_reported() {
    let d = directory(&[
        ("duplicate", "T1: w(1,1) ; T2: w(1,2) ; T3: r(1,1)  T4?: w(1,1)"),
        ("twins", "T1?: w(1,1) r(9,77)  T2?: w(1,1)  T3: r(1,1)"),
        ("initial", "init(1)=5  T1: r(1,5)"),
        ("expectation", "T1: w(x,1) => si holds"),
        (
            "empty-first.jsonl",
            "{\"isoscope\":\"history\",\"version\":1}
{\"session\":0,\"txn\":5,\"ops\":[]}
{\"session\":0,\"txn\":0,\"ops\":[[\"w\",1,0]]}
{\"session\":1,\"txn\":1,\"ops\":[[\"w\",1,7]]}
",
        ),
    ]);
    let doubt = "that may have been read left out: the verdict may change (1)";
    assert!(isoscope(d.path(), "convert duplicate --to plume").err.contains(doubt));
    let twins = isoscope(d.path(), "convert twins --to plume");
    assert!(twins.err.contains(doubt) && twins.err.contains("written as committed (1)"), "{}", twins.err);
    let initial = isoscope(d.path(), "convert initial --to plume").err;
    assert!(initial.contains("initial values replaced by the format's own (1)"), "{initial}");
    assert_eq!(isoscope(d.path(), "stats expectation").code, 255);
    assert_eq!(isoscope(d.path(), "convert empty-first.jsonl -o out.txt").code, 0);
    assert!(isoscope(d.path(), "stats out.txt").out.contains("operations                 2"));
}

#[test]
#[cfg(unix)]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let d = directory(&[("h.txt", SMALL), ("private.txt", "")]);
    let private = d.path().join("private.txt");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(isoscope(d.path(), "-q convert h.txt -o private.txt").code, 0);
    assert_eq!(private.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn damaged_zstd_data_is_an_error() {
    let d = directory(&[]);
    let text = "w(1,1,0,1)\n".repeat(50) + "r(1,1,0,2)\n";
    let level = ruzstd::encoding::CompressionLevel::Uncompressed;
    let good = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
    assert_eq!(isoscope_with_input(d.path(), "stats -", &good).code, 0);
    let mut bad = good.clone();
    let at = bad.windows(2).position(|pair| pair == b"(1").unwrap() + 1;
    bad[at] = b'9';
    let run = isoscope_with_input(d.path(), "stats -", &bad);
    assert_eq!(run.code, 255, "{}", run.out);
    assert!(run.err.contains("corrupt"), "{}", run.err);
}

#[test]
fn levels_are_listed_and_drawn() {
    let d = directory(&[]);
    let run = isoscope(d.path(), "levels");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.contains("                strict-serializable\n                 ╭"), "{}", run.out);
    assert!(run.out.contains("\nsnapshot-isolation           si       as prefix, and"), "{}", run.out);
    assert!(run.out.contains("\nconsistent-view                  pl-2+    as PL-2, and"), "{}", run.out);
    assert!(
        run.out.contains("\nlost-update                pl-cs              two transactions"),
        "{}",
        run.out
    );
    assert!(run.out.lines().all(|line| line.chars().count() <= 100), "{}", run.out);
    assert!(!run.out.lines().any(|line| line.ends_with(' ')), "{}", run.out);
}

#[test]
fn levels_has_a_json_form() {
    let d = directory(&[]);
    let json: serde_json::Value =
        serde_json::from_str(&isoscope(d.path(), "levels --format json").out).unwrap();
    let (levels, anomalies) = (json["levels"].as_array().unwrap(), json["anomalies"].as_array().unwrap());
    assert_eq!((levels.len(), anomalies.len()), (25, 25));
    let si = levels.iter().find(|level| level["level"] == "snapshot-isolation").unwrap();
    assert_eq!((&si["short"], &si["engine"]), (&"si".into(), &"solver".into()));
    assert_eq!(si["covers"], serde_json::json!(["prefix", "parallel-snapshot-isolation", "adya-pl-si"]));
    let skew = anomalies.iter().find(|anomaly| anomaly["anomaly"] == "write-skew").unwrap();
    assert_eq!(skew["forbidden_from"], serde_json::json!(["update-serializable", "adya-pl-2.99"]));
    assert_eq!(
        skew["examples"][0]["violated"],
        serde_json::json!([
            "adya-pl-2.99",
            "update-serializable",
            "adya-pl-3",
            "serializable",
            "strict-serializable"
        ])
    );
}

#[test]
fn every_topic_is_explained() {
    let d = directory(&[]);
    let all = isoscope(d.path(), "explain");
    assert_eq!(all.code, 0);
    let topics = all.out.lines().filter_map(|line| line.split_whitespace().next());
    let topics: Vec<&str> = topics.filter(|name| name.contains('-') || *name == "causal").collect();
    assert_eq!(
        topics.len(),
        25 + 25 - 3,
        "`serializable`, `prefix` and `phantom` have no hyphen: {topics:?}"
    );
    for topic in topics.into_iter().chain(["serializable", "prefix", "phantom"]) {
        let run = isoscope(d.path(), &format!("explain {topic}"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{topic}");
        assert!(run.out.starts_with(topic) && run.out.contains("    session 1   T1"), "{}", run.out);
        assert!(run.out.lines().all(|line| line.chars().count() <= 92), "{}", run.out);
    }
    let page = isoscope(d.path(), "explain Strong_Session_Serializable").out;
    assert!(page.starts_with("serializable  isolation level\n"), "{page}");
    let sessions = "    session 1   T1: w(y,1)  ;  T2: r(x,0)\n    session 2   T3: r(y,0) w(x,2)\n";
    assert!(page.contains(sessions), "{page}");
    assert!(page.contains("  PostgreSQL      SERIALIZABLE: by serializable snapshot"), "{page}");
}

#[test]
fn unknown_names_exit_with_254_and_a_suggestion() {
    let d = directory(&[]);
    for (args, message) in [
        ("explain serialisable", "is called `serialisable`; did you mean `serializable`?"),
        ("explain wombat", "no isolation level or anomaly is called `wombat`\n"),
        ("generate --level snapshot_isolatoin", "did you mean `snapshot-isolation`?"),
        ("generate --level ci", "the store cannot run cut-isolation; it runs read-committed, read-atomic,"),
        ("generate --inject G0", "dirty-write cannot be injected; these can: lost-update, write-skew,"),
        ("generate --inject write-skwe", "did you mean `write-skew`?"),
    ] {
        let run = isoscope(d.path(), args);
        assert_eq!((run.code, run.out.as_str()), (254, ""), "{args}");
        assert!(run.err.contains(message), "{args}: {}", run.err);
    }
    let by_alias = |name| isoscope(d.path(), &format!("generate --seed 1 --level {name}")).out;
    assert_eq!(by_alias("SI"), by_alias("snapshot-isolation"));
}
