import Foundation

/// A program that the tests start. Separate threads read its output and await its end: no thread of Swift's concurrency
/// blocks.
final class Child: Sendable {
    private struct State {
        var lines: [String] = []
        var isRead = false
        var status: Int32?
        var input: Int32
    }

    private static let starting = NSLock()

    let pid: pid_t
    private let state: Shared<State>

    init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        // Each descriptor belongs to this process and one child: another child that inherited it would keep it open.
        // Swift has no `pipe2`, so children are started one at a time.
        Self.starting.lock()
        defer { Self.starting.unlock() }
        var (input, output): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&input) == 0, pipe(&output) == 0 else { throw Unmet("no pipe") }
        (input + output).forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        // If the program no longer reads, the write fails.
        Foundation.signal(SIGPIPE, SIG_IGN)
        // Threads of Swift block signals, and this process ignores one; a child would inherit both.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var (none, ignored) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&ignored)
        sigaddset(&ignored, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &ignored)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") } + [nil]
        var started: pid_t = 0
        let failed = posix_spawnp(&started, program, &actions, &attributes, &words, &settings)
        (words + settings).forEach { free($0) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        close(input[0])
        close(output[1])
        guard failed == 0 else { throw Unmet("\(program) does not start: \(String(cString: strerror(failed)))") }
        let pid = started
        self.pid = pid
        let state = Shared(State(input: input[1]))
        self.state = state
        let read = output[0]
        Thread.detachNewThread { Self.read(read, into: state) }
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) == -1, errno == EINTR {}
            let ended = status
            state.change { $0.status = ended }
        }
    }

    private static func read(_ descriptor: Int32, into state: Shared<State>) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Foundation.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { break }
            rest += buffer[..<count]
            var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let last = lines.removeLast()
            let whole = lines.map { String(decoding: $0, as: UTF8.self) }
            rest = Array(last)
            state.change { $0.lines += whole }
        }
        close(descriptor)
        state.change { $0.isRead = true }
    }

    /// The lines not yet taken.
    func take() -> [String] {
        state.change { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    /// Takes the next line; nil at the end of the output.
    func line(within limit: Duration = limit) async throws -> String? {
        var line: String?
        try await until("a line of \(pid)", within: limit) {
            state.change { state in
                line = state.lines.isEmpty ? nil : state.lines.removeFirst()
                return line != nil || state.isRead
            }
        }
        return line
    }

    /// Waits for a line that begins with that word, and returns the rest.
    func expect(_ word: String, within limit: Duration = limit) async throws -> String {
        while let line = try await line(within: limit) {
            if line == word { return "" }
            if line.hasPrefix("\(word) ") { return String(line.dropFirst(word.count + 1)) }
        }
        throw Unmet("the program does not print \(word)")
    }

    func say(_ line: String) throws {
        let bytes = Array("\(line)\n".utf8)
        let written = state.change { write($0.input, bytes, bytes.count) }
        // A line is shorter than a pipe's atomic write.
        guard written == bytes.count else { throw Unmet("the program reads no more") }
    }

    /// Ends its input.
    func closeInput() {
        state.change { state in
            if state.input >= 0 { close(state.input) }
            state.input = -1
        }
    }

    func signal(_ number: Int32) {
        // A number may belong to another process once this one has ended.
        state.change { state in
            if state.status == nil { _ = kill(pid, number) }
        }
    }

    /// The child's exit status; nil while the child runs.
    var status: Int32? { state.value.status }

    /// Waits for the end, and returns the exit status, or 128 and the number of the signal.
    func ended() async throws -> Int32 {
        try await until("\(pid) ends") { state.value.status != nil && state.value.isRead }
        let status = state.value.status ?? 0
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    /// Runs `body`, and then kills the program.
    static func using<T>(
        _ program: String,
        _ arguments: [String] = [],
        _ body: (Child) async throws -> T
    ) async throws -> T {
        let child = try Child(program, arguments)
        defer {
            child.signal(SIGKILL)
            child.closeInput()
        }
        return try await body(child)
    }
}

/// A program that `cargo xtask test swift` names in the environment.
func tool(_ variable: String) throws -> String {
    guard let tool = ProcessInfo.processInfo.environment[variable], !tool.isEmpty else {
        throw Unmet("\(variable) is not set: run `cargo xtask test swift`")
    }
    return tool
}

/// A program of this package.
func program(_ name: String) throws -> String {
    "\(try tool("INCUMBENT_PROGRAMS"))/\(name)"
}

/// A file of the project.
func source(_ path: String) throws -> URL {
    URL(fileURLWithPath: try tool("INCUMBENT_SOURCES")).appendingPathComponent(path)
}

/// A time of the monotonic clock, in nanoseconds.
func monotonic() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
