//! Generates the Kotlin source from the library.

fn main() {
    uniffi::uniffi_bindgen_main();
}
