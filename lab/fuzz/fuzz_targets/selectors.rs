#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| incumbent_fuzz::selectors::run(data));
