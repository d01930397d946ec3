use isoscope_check::*;
use isoscope_formats::*;
struct W(std::sync::Mutex<std::time::Instant>);
impl Watch for W {
    fn stage(&self, level: isoscope_levels::Level, stage: &Stage) {
        let mut t = self.0.lock().unwrap();
        eprintln!("   {level} {} {:.3}s {:?}", stage.name, t.elapsed().as_secs_f64(), stage.figures);
        *t = std::time::Instant::now();
    }
}
fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let level = isoscope_levels::Level::parse(&args.remove(0)).unwrap();
    for a in args {
        let r = read(&Input::Path(a.clone().into()), &ReadOptions::default()).unwrap();
        let w = W(std::sync::Mutex::new(std::time::Instant::now()));
        let s = std::time::Instant::now();
        let mut c = Checker::watched(&r.history, Options::default(), &w);
        let j = c.check(level);
        let word = match &j.verdict { Verdict::Holds(_) => "holds".to_string(), Verdict::Violated(f) => format!("violated {:?} {}", j.implied_by, f.len()), Verdict::Unknown(u) => format!("{u:?}") };
        println!("{a} {level} {word} {:.3}", s.elapsed().as_secs_f64());
    }
}
