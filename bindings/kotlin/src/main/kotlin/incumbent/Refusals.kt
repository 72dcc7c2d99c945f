/** What is refused in Kotlin itself, and why: from `bindings/schema/refusals.toml`. */

package incumbent

// generated: refusals
/** Refuses a length of time that the compiled part cannot represent. */
internal fun noLength(name: String, value: String): String =
    "$name is $value, and must be a length of time, not negative and not infinite"

// end of refusals
