#[cfg(incumbent_mutants)]
fn main() {
    use incumbent_core::mutant::{self, Mutant};
    use incumbent_sim::{Choice, Kind, run};
    let args: Vec<String> = std::env::args().collect();
    let m: Option<Mutant> = args[1].parse().ok();
    assert!(m.is_some() || args[1] == "none");
    mutant::set(m);
    let t = std::time::Instant::now();
    let n: u64 = args[2].parse().unwrap();
    let from: u64 = args.get(4).map_or(0, |f| f.parse().unwrap());
    let faults: Option<Vec<Kind>> = args.get(3).filter(|f| *f != "-").map(|f| f.split(',').map(|k| k.parse().unwrap()).collect());
    let all = std::env::var("ALL").is_ok();
    let mut seen: std::collections::BTreeMap<&str, (u64, Vec<u64>, String)> = Default::default();
    for seed in from..from + n {
        if let Some(v) = run(&Choice { faults: faults.clone(), ..Choice::of_seed(seed) }).violation {
            if all {
                let e = seen.entry(v.invariant).or_insert((0, vec![], v.says.clone()));
                e.0 += 1;
                if e.1.len() < 8 { e.1.push(seed); }
                continue;
            }
            println!("{:32} seed {seed:5} {:.1}s {} {}", args[1], t.elapsed().as_secs_f64(), v.invariant, v.says);
            return;
        }
    }
    for (i, (n, seeds, says)) in &seen { println!("   {i}: {n} {seeds:?} {says}"); }
    println!("{:32} {} {n} seeds {:.1}s", args[1], if seen.is_empty() { "survives" } else { "of" }, t.elapsed().as_secs_f64());
}
#[cfg(not(incumbent_mutants))]
fn main() {}
