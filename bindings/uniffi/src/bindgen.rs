//! Generates the Kotlin or Swift source from the library.

fn main() {
    uniffi::uniffi_bindgen_main();
}
