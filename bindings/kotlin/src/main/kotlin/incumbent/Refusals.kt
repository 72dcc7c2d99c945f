/** What is refused in Kotlin itself, and why: from `bindings/schema/refusals.toml`. */

package incumbent

// generated: refusals
/** Refuses a duration that the compiled part cannot represent. */
internal fun noLength(name: String, value: String): String =
    "$name is $value, and must be a finite duration that is not negative"

// end of refusals
