use isoscope_formats::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let t = std::time::Instant::now();
    let r = read(&Input::Path(path.into()), &ReadOptions::default()).unwrap_or_else(|f| panic!("{f}"));
    println!(
        "{:?} {} txns {} ops {} keys {:?}",
        t.elapsed(),
        r.history.txn_count(),
        r.history.op_count(),
        r.history.key_count(),
        r.history.bytes()
    );
    for w in r.warnings {
        println!("{w}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
    std::process::exit(0);
}
