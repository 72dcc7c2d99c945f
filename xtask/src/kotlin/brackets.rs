//! Brackets around the native functions that uniffi's Kotlin code calls.
//!
//! `shutDown()` frees what JNA keeps for each native function, which no call may use any more. The generated code calls the
//! functions of one object. Here that object gets another name, and an object of the name that the code calls forwards each
//! function inside a bracket, which counts the calls and refuses those after the end. So no generated call is without one.

use anyhow::{Context, Result, ensure};

/// The object whose functions the generated code calls.
const CALLED: &str = "UniffiLib";

/// The name of the object that has the native functions.
const NATIVE: &str = "UniffiNatives";

/// Returns the generated code with the native functions under their new name, and the code that forwards to them.
pub(super) fn bracketed(generated: &str) -> Result<(String, String)> {
    let natives = replaced(
        generated,
        &format!("\ninternal object {CALLED} {{"),
        &format!("\ninternal object {NATIVE} {{"),
    )?;
    let natives = replaced(&natives, &format!("({CALLED}::class.java,"), &format!("({NATIVE}::class.java,"))?;
    let (_, body) =
        natives.split_once(&format!("\ninternal object {NATIVE} {{")).context("the object is there")?;
    let (body, _) = body.split_once("\n}\n").context("the object of native functions has no end")?;
    let package =
        generated.lines().find(|line| line.starts_with("package ")).context("the code has no package")?;
    let mut calls = format!(
        "{package}\n\nimport incumbent.Calls\nimport incumbent.Handles\n\n\
         /** Calls native functions, each in a bracket. */\n\
         internal object {CALLED} {{\n    init {{\n        Calls.loadJna()\n    }}\n\n    \
         val CLEANER: UniffiCleaner get() = Handles\n\n    \
         fun ensureInitialized() = Calls.call {{ {NATIVE}.ensureInitialized() }}\n"
    );
    let mut functions = body.split("external fun ");
    // Before the first function.
    functions.next();
    for function in functions {
        calls.push_str(&forwarding(function)?);
    }
    calls.push_str("}\n");
    Ok((natives, calls))
}

/// Replaces a text that must occur exactly once.
fn replaced(code: &str, old: &str, new: &str) -> Result<String> {
    let found = code.matches(old).count();
    ensure!(found == 1, "uniffi's Kotlin code has `{}` {found} times, and not once", old.trim());
    Ok(code.replace(old, new))
}

/// The function that forwards to the native function of this declaration, which begins with its name.
fn forwarding(declaration: &str) -> Result<String> {
    let unread = || format!("cannot read this native function of uniffi's Kotlin code: {declaration}");
    let (name, rest) = declaration.split_once('(').with_context(unread)?;
    let (parameters, rest) = rest.split_once(')').with_context(unread)?;
    let result =
        rest.lines().next().and_then(|end| end.trim().strip_prefix(':')).with_context(unread)?.trim();
    let parameters: Vec<&str> = parameters.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let arguments = parameters.iter().map(|one| one.split_once(':').map(|(name, _)| name.trim()));
    let arguments = arguments.collect::<Option<Vec<_>>>().with_context(unread)?.join(", ");
    // After the end there is nothing to free any more, and a `finally` must not fail.
    let frees =
        ["_fn_free_", "_rust_future_free_", "_rustbuffer_free"].iter().any(|kind| name.contains(kind));
    ensure!(!frees || result == "Unit", "{name} frees something and has a result");
    let bracket = if frees { "free" } else { "call" };
    let parameters = parameters.join(", ");
    Ok(format!(
        "\n    fun {name}({parameters}): {result} = Calls.{bracket} {{ {NATIVE}.{name}({arguments}) }}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATED: &str = "package raw\n\ninternal object UniffiLib {\n    init {\n        \
        Native.register(UniffiLib::class.java, name())\n    }\n    \
        external fun uniffi_x_fn_free_y(`handle`: Long,uniffi_out_err: UniffiRustCallStatus, \n    ): Unit\n    \
        external fun ffi_x_poll(`callback`: Waking,): RustBuffer.ByValue\n\n}\n\nfun after() = UniffiLib.ffi_x_poll(it)\n";

    #[test]
    fn each_native_function_is_called_in_a_bracket_of_the_name_that_the_code_calls() {
        let (natives, calls) = bracketed(GENERATED).unwrap();
        assert!(natives.contains(
            "internal object UniffiNatives {\n    init {\n        Native.register(UniffiNatives::class.java"
        ));
        assert!(natives.ends_with("fun after() = UniffiLib.ffi_x_poll(it)\n"), "{natives}");
        let functions: Vec<&str> = calls.lines().filter(|line| line.contains("_x_")).map(str::trim).collect();
        assert_eq!(
            functions,
            [
                "fun uniffi_x_fn_free_y(`handle`: Long, uniffi_out_err: UniffiRustCallStatus): Unit = \
                 Calls.free { UniffiNatives.uniffi_x_fn_free_y(`handle`, uniffi_out_err) }",
                "fun ffi_x_poll(`callback`: Waking): RustBuffer.ByValue = \
                 Calls.call { UniffiNatives.ffi_x_poll(`callback`) }",
            ]
        );
    }

    #[test]
    fn code_of_another_form_is_refused() {
        let two = GENERATED.replace("fun after", "\ninternal object UniffiLib {}\nfun after");
        assert!(bracketed(&two).unwrap_err().to_string().contains("2 times"));
        let other = GENERATED.replace("): Unit", ")");
        assert!(bracketed(&other).unwrap_err().to_string().contains("cannot read this native function"));
        assert!(bracketed("package raw\n").is_err());
    }
}
