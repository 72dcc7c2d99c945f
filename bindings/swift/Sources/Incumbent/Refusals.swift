// What is refused in Swift itself, and why: from `bindings/schema/refusals.toml`.

// generated: refusals
/// Refuses a duration that the compiled part cannot represent.
func noLength(name: String, value: String) -> String {
    "\(name) is \(value), and must be a duration that is not negative"
}

// end of refusals
