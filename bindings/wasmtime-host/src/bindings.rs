//! The worlds of `wit/`, generated for Wasmtime.

#![allow(missing_docs, unused_qualifications, clippy::all, reason = "generated")]

wasmtime::component::bindgen!({
    path: "wit",
    world: "campaigner",
    imports: { default: async | trappable },
    exports: { default: async },
    with: {
        "incumbent:election/kv.bucket": crate::bucket::Bucket,
        "incumbent:election/kv.watch": crate::watch::Watch,
    },
});
