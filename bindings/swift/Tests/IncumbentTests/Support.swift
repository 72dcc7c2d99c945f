import Foundation
import Incumbent

/// The time limit of every expectation; no test depends on it.
let limit = Duration.seconds(120)

/// Outlasts every stall of the machine.
let longLease = Duration.seconds(60)

/// A condition that did not come true, or a value that is wrong.
struct Unmet: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Waits until a condition is true: for states that no event reports.
func until(_ what: String, within limit: Duration = limit, _ isSo: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + limit
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw Unmet("waited for: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// The settings of a candidate that campaigns at once, and whose lease outlasts every stall.
func quick(_ name: String = "a", drain: Duration? = nil) -> CampaignSettings {
    CampaignSettings(name: name, preset: .fast, lease: longLease, drain: drain, splay: .zero)
}

/// A value that threads and tasks share.
final class Shared<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var current: Value

    init(_ value: Value) {
        current = value
    }

    var value: Value { change { $0 } }

    @discardableResult
    func change<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&current)
    }
}

/// Waits until the task is cancelled.
func untilCancelled() async throws {
    try await Task.sleep(for: .seconds(1 << 20))
}

/// The error of a call; nil if it returns.
func failure<T>(_ call: () async throws -> T) async -> IncumbentError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error as? IncumbentError
    }
}

extension IncumbentError {
    /// The reason of a term that ended.
    var reason: Reason? {
        if case .termEnded(let reason, _) = self { reason } else { nil }
    }
}
