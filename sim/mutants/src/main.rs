#[cfg(incumbent_mutants)]
fn main() {
    use incumbent_core::mutant::{self, Mutant};
    use incumbent_sim::{Choice, run};
    let args: Vec<String> = std::env::args().collect();
    let m: Option<Mutant> = args[1].parse().ok();
    mutant::set(m);
    let t = std::time::Instant::now();
    let n: u64 = args[2].parse().unwrap();
    for seed in 0..n {
        if let Some(v) = run(&Choice::of_seed(seed)).violation {
            println!("{:32} seed {seed:5} {:.1}s {} {}", args[1], t.elapsed().as_secs_f64(), v.invariant, v.says);
            return;
        }
    }
    println!("{:32} survives {n} seeds {:.1}s", args[1], t.elapsed().as_secs_f64());
}
#[cfg(not(incumbent_mutants))]
fn main() {}
