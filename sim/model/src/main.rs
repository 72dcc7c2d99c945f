fn main() {
    for world in incumbent_model::worlds() {
        let t = std::time::Instant::now();
        let f = incumbent_model::check(&world);
        println!("{} [{}]: {} states {} unique depth {} terms {} vacancy {} in {:?}", world.name(), world.bounds(), f.states, f.unique, f.depth, f.terms, f.vacancy, t.elapsed());
        if let Some(v) = f.violation { println!("{:?}\n{}", v.property, v.path); }
    }
}
