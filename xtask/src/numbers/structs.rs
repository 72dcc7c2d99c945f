//! The fields of structs. A struct of the core may have at most 15: of more fields, some would have rules of their own
//! and should be a separate type. No struct is exempt, because even a user's settings have fewer.

/// Returns the structs with named fields in a source, each with the number of its fields.
pub(super) fn structs(source: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = named(line) else { continue };
        // There may be lines before the fields, such as a `where` clause. A struct without a brace has no named fields.
        let mut opening = Some(line);
        while opening.is_some_and(|line| !line.ends_with(['{', ';', '}'])) {
            opening = lines.next();
        }
        if !opening.is_some_and(|line| line.ends_with('{')) {
            continue;
        }
        let body = lines.by_ref().take_while(|line| line.trim_end() != format!("{:indent$}}}", ""));
        found.push((name, body.filter(|line| is_field(line, indent + 4)).count()));
    }
    found
}

/// The name of the struct that a line declares.
fn named(line: &str) -> Option<&str> {
    let declared = without_visibility(line.trim_start()).strip_prefix("struct ")?;
    declared.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Returns true if the line declares a field with this indentation.
fn is_field(line: &str, indent: usize) -> bool {
    let code = line.trim_start();
    let name = without_visibility(code).split(':').next().unwrap_or_default();
    line.len() - code.len() == indent
        && code.contains(": ")
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn without_visibility(code: &str) -> &str {
    let Some(rest) = code.strip_prefix("pub") else { return code };
    rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest).trim_start()
}

#[cfg(test)]
mod tests {
    use super::super::sources;
    use super::*;

    /// The most fields of a struct of the core.
    const MOST: usize = 15;

    #[test]
    fn no_struct_of_the_core_has_more_than_fifteen_fields() {
        let all = sources("core/src").unwrap();
        let counted = all.iter().flat_map(|(file, source)| {
            structs(source).into_iter().map(move |(name, fields)| (format!("{file}: {name}"), fields))
        });
        let counted: Vec<_> = counted.collect();
        assert!(counted.len() > 100, "{} structs", counted.len());
        let too_large: Vec<_> = counted.into_iter().filter(|(_, fields)| *fields > MOST).collect();
        assert_eq!(too_large, [], "give a part with rules of its own a type");
    }

    #[test]
    fn the_fields_of_a_struct_are_counted_whatever_precedes_them() {
        let source = "\
pub(crate) struct Plain {
    /// A reason why this is no field.
    #[serde(default)]
    pub(super) one: u32,
    pub two: Map<
        String: Key,
    >,
    r: [u8; 4],
}

struct Unit;
struct Tuple(u32);

struct Bound<T>
where
    T: Copy,
{
    only: T,
}
";
        assert_eq!(structs(source), [("Plain", 3), ("Bound", 1)]);
    }
}
