//! The templates of a file's text about each error, reason, state or warning; `codes::filled` explains their marks.

// ---- Rust and WIT ----

pub(super) const RUST_REASONS: &str = r#"
/// The reason for which a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
*    {///}
*    {Name},
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; {count}] = [
*        Self::{Name},
    ];

    /// Returns true if the work may be brought to an end while the lease is still held; otherwise it must stop at once,
    /// because another candidate may lead any moment.
    pub const fn may_drain(self) -> bool {
        match self {
*            Self::{Name} => {drains},
        }
    }

    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
*            Self::{Name} => "{CODE}",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
*            Self::{Name} => "{text}",
        })
    }
}
"#;

pub(super) const RUST_STATES: &str = r#"
/// The state of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
*    {///}
*    {Name},
}

impl State {
    /// All of them.
    pub const ALL: [Self; {count}] = [
*        Self::{Name},
    ];

    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
*            Self::{Name} => "{CODE}",
        }
    }
}
"#;

pub(super) const RUST_FAULTS: &str = r#"
*FaultKind::{Fault} => "{CODE}",
"#;

pub(super) const RUST_WARNINGS: &str = r#"
*Self::{Name}{ .. } => "{CODE}",
"#;

pub(super) const RUST_KINDS: &str = r#"
/// The class of an error, which a program can act on. Each has a stable [code](Self::code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
*    {///}
*    {Name},
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; {count}] = [
*        Self::{Name},
    ];

    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
*            Self::{Name} => "{CODE}",
        }
    }

    /// Returns true if the same call can succeed later without a change by the caller or an operator.
    pub const fn is_temporary(self) -> bool {
        match self {
*            Self::{Name} => {temporary},
        }
    }
}
"#;

pub(super) const RUST_CODES: &str = r#"
/// The kind of an error, as a code that is the same in every language and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A kind of the runtime.
    Kind(ErrorKind),
*    {///}
*    {Name},
}

impl Code {
    /// All codes.
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = ErrorKind::ALL.into_iter().map(Self::Kind);
        kinds.chain([{Selves}])
    }

    /// The code as text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.code(),
*            Self::{Name} => "{CODE}",
        }
    }

    /// Returns true if the same call can succeed later without a change by the caller or an operator.
    pub const fn is_temporary(self) -> bool {
        match self {
            Self::Kind(kind) => kind.is_temporary(),
*            Self::{Name} => {temporary},
        }
    }
}
"#;

pub(super) const RAW_REASONS: &str = r#"
same_names! {
    /// The reason for which a term ended.
    Reason:
*    {///}
*    {Name},
}
"#;

pub(super) const RAW_STATES: &str = r#"
same_names! {
    /// The state of a campaign.
    State:
*    {///}
*    {Name},
}
"#;

pub(super) const PAIRED_REASONS: &str = r#"
same_variants!(events::Reason, Reason: {Names});
"#;

pub(super) const PAIRED_STATES: &str = r#"
same_variants!(events::State, State: {Names});
"#;

pub(super) const WIT_REASONS: &str = r#"
/// The reason for which a term ended.
///
/// If the work may drain, it may be finished while the lease is still held. For every other reason it must stop at
/// once, because another candidate may lead at any moment.
@since(version = 0.1.0)
enum reason {
*    {///}
*?drains     ///
*?drains     /// The work may drain.
*    {kebab},
}
"#;

pub(super) const WIT_STATES: &str = r#"
/// The state of a campaign.
@since(version = 0.1.0)
enum state {
*    {///}
*    {kebab},
}
"#;

// ---- Python and TypeScript ----

pub(super) const PYTHON_MEMBERS: &str = r#"
*{CODE} = "{CODE}"
*{"""}
"#;

pub(super) const PYTHON_ERRORS: &str = r#"
*class {Python}(IncumbentError, {built-in}):
*    {"""}
*
*    code = "{CODE}"
*?temporary     is_temporary = True
*
*
"#;

pub(super) const PYTHON_CLASSES: &str = r#"
*{Python},
"#;

pub(super) const PYTHON_NAMES: &str = r#"
*"{Python}",
"#;

pub(super) const NODE_EXPORTS: &str = r#"
*{Name}Error,
"#;

pub(super) const NODE_REASONS: &str = r#"
/** The reason for which a term ended. */
export type Reason =
*  {/**}
*  | '{CODE}'{;}
"#;

pub(super) const NODE_STATES: &str = r#"
/** The state of a campaign. */
export type State =
*  {/**}
*  | '{CODE}'{;}
"#;

pub(super) const NODE_CODES: &str = r#"
/** A stable name of a kind of error, the same in every language. */
export type Code =
*  {/**}
*  | '{CODE}'{;}

const TEMPORARY: ReadonlySet<Code> = new Set([{'TEMPORARY'}]);
"#;

pub(super) const NODE_ERRORS: &str = r#"
*{/**}
*export class {Name}Error extends IncumbentError {
*  declare readonly code: '{CODE}';
*}
*
"#;

pub(super) const NODE_CLASSES: &str = r#"
*{CODE}: {Name}Error,
"#;

// ---- Kotlin and Swift ----

pub(super) const KOTLIN_MEMBERS: &str = r#"
*{/**}
*{CODE}{,;}
*
"#;

pub(super) const KOTLIN_STATES: &str = r#"
*{/**}
*{CODE},
*
"#;

pub(super) const KOTLIN_ERRORS: &str = r#"
*{/**}
*public class {Name}Exception internal constructor(message: String, cause: Throwable?) :
*    IncumbentException(Code.{CODE}, message, cause)
*
"#;

pub(super) const KOTLIN_CLASSES: &str = r#"
*Code.{CODE} -> {Name}Exception(text, cause)
"#;

pub(super) const SWIFT_MEMBERS: &str = r#"
*{///}
*case {`swift`} = "{CODE}"
"#;

pub(super) const SWIFT_REASONS: &str = r#"
*{///}
*case {`swift`} = "{CODE}"

package var raw: IncumbentRaw.Reason {
    switch self {
*    case .{swift}: .{swift}
    }
}

package init(_ raw: IncumbentRaw.Reason) {
    self = switch raw {
*    case .{swift}: .{swift}
    }
}
"#;

pub(super) const SWIFT_STATES: &str = r#"
*{///}
*case {`swift`} = "{CODE}"

init(_ raw: IncumbentRaw.State) {
    self = switch raw {
*    case .{swift}: .{swift}
    }
}
"#;

pub(super) const SWIFT_ERRORS: &str = r#"
*{///}
*case {`swift`}({Reason, }Details)

private var parts: (ErrorCode, Details) {
    switch self {
*    case .{swift}({_, }let details): (.{swift}, details)
    }
}
"#;

pub(super) const SWIFT_CASES: &str = r#"
*case .{swift}: self = .{swift}(details)
"#;

// ---- the reference ----

pub(super) const CODE_TABLE: &str = r#"
| code | meaning | worth another try |
|---|---|---|
*| `{CODE}` | {meaning}{. More} | {again} |
"#;

pub(super) const REASON_TABLE: &str = r#"
| reason | meaning | the work |
|---|---|---|
*| `{CODE}` | {meaning} | {work} |
"#;

pub(super) const WARNING_TABLE: &str = r#"
| warning | meaning |
|---|---|
*| `{CODE}` | {meaning} |
"#;

pub(super) const REASON_GLOSSARY: &str = r#"
| reason | meaning | the work |
|---|---|---|
*| `{Name}` | {meaning} | {work} |
"#;

pub(super) const STATE_GLOSSARY: &str = r#"
| state | meaning |
|---|---|
*| `{Name}` | {meaning} |
"#;
