/// Whether code runs inside the work that a drain waits for. Code that resigns there must not wait for the drain: it
/// would wait for itself.
enum Inside {
    /// The terms that a task works for; its child tasks and `Task { … }` inherit them.
    @TaskLocal static var working: [Token] = []

    /// The tasks in the body of a loop over terms: a sequence cannot set a task-local value for that body.
    private static let loops = Locked<[Int: [Token]]>([:])

    /// The current task, as long as it runs.
    static func task() -> Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }

    /// Runs `work` as work for the term.
    static func during<T>(_ token: Token, _ work: () async throws -> T) async rethrows -> T {
        try await $working.withValue(working + [token], operation: work)
    }

    /// Records that the body of a loop begins to work for the term.
    static func begin(_ token: Token, on task: Int) {
        loops.withLock { $0[task, default: []].append(token) }
    }

    /// Records that the body of a loop has worked for the term.
    static func end(_ token: Token, on task: Int) {
        loops.withLock { loops in
            if let last = loops[task]?.lastIndex(of: token) {
                loops[task]?.remove(at: last)
            }
            if loops[task]?.isEmpty == true {
                loops[task] = nil
            }
        }
    }

    /// Whether the caller is work for the term of that token, or for any term if there is none.
    static func holds(_ token: Token?) -> Bool {
        let mine = working + (task().flatMap { task in loops.withLock { $0[task] } } ?? [])
        return token.map(mine.contains) ?? !mine.isEmpty
    }
}
