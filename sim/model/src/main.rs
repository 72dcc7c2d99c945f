fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    for world in incumbent_model::worlds() {
        if !only.is_empty() && !only.iter().any(|n| n == world.name()) { continue; }
        let t = std::time::Instant::now();
        let f = incumbent_model::check(&world);
        println!("{} [{}]: {} states {} unique depth {} terms {} vacancy {} in {:?}", world.name(), world.bounds(), f.states, f.unique, f.depth, f.terms, f.vacancy, t.elapsed());
        if let Some(v) = f.violation { println!("{:?}\n{}", v.property, v.path); }
    }
}
