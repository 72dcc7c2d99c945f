import Foundation
package import IncumbentRaw

/// A call of the compiled part: it runs from the creation of its object, and has one answer.
/// Swift's cancellation does not reach a Rust future by itself, so each wait passes it on.
package protocol Pending: Sendable {
    associatedtype Answer: Sendable

    func answer() async throws -> Answer
    func cancel()
}

extension Pending {
    /// Waits for the answer. Cancelling the task cancels the call, as far as possible.
    package func awaited() async throws -> Answer {
        try await withTaskCancellationHandler {
            try await translating { try await answer() }
        } onCancel: {
            cancel()
        }
    }

    /// Waits for the answer, even in a cancelled task.
    func awaitedInAnyCase() async throws -> Answer {
        try await translating { try await answer() }
    }
}

extension PendingStore: Pending {}
extension PendingInit: Pending {}
extension PendingFaultyStore: Pending {}
extension PendingCandidate: Pending {}
extension PendingObservations: Pending {}
extension PendingTerm: Pending {}
extension PendingEnd: Pending {}
extension PendingReason: Pending {}
extension PendingLeader: Pending {}
extension PendingElections: Pending {}
extension PendingParticipants: Pending {}

/// A value that one thread at a time reads and changes.
package final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
