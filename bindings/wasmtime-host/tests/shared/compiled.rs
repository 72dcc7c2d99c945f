//! Components, compiled once for all processes of the tests: without optimisation the compiler takes seconds.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use incumbent_testkit::tools::component;
use wasmtime::Engine;
use wasmtime::component::Component;

/// A component that `cargo xtask package component` has built.
pub(crate) fn compiled(engine: &Engine, name: &str) -> Component {
    let bytes = fs::read(component(name).unwrap()).unwrap();
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}-{:016x}.cwasm", hasher.finish()));
    if !file.exists() {
        let own = folder.join(format!("{name}-{}.part", std::process::id()));
        fs::write(&own, engine.precompile_component(&bytes).unwrap()).unwrap();
        // The rename is atomic, even when another process does the same.
        fs::rename(own, &file).unwrap();
    }
    // SAFETY: nothing but the lines above writes such a file, and its name identifies the bytes and the engine.
    #[allow(unsafe_code, reason = "made by the lines above")]
    unsafe { Component::deserialize_file(engine, file) }.unwrap()
}
