import Foundation
internal import IncumbentRaw

/// A stable name of a kind of error, the same in every language.
public enum ErrorCode: String, CaseIterable, Hashable, Sendable {
    // generated: codes
    /// A store's URL cannot be read, or names a parameter that does not exist.
    case invalidURL = "INVALID_URL"
    /// A setting is refused; the message names it, its value, what is accepted and the remedy.
    case invalidSetting = "INVALID_SETTING"
    /// The store cannot hold this key or candidate name.
    case invalidName = "INVALID_NAME"
    /// Credentials cannot be read, or are malformed.
    case authentication = "AUTHENTICATION"
    /// The store does not answer.
    case storeUnavailable = "STORE_UNAVAILABLE"
    /// The store refuses the credentials, or they lack a permission.
    case permissionDenied = "PERMISSION_DENIED"
    /// The bucket, file or topic does not exist; preparing the store creates it.
    case notFound = "NOT_FOUND"
    /// An election on a store with these settings would be unsafe.
    case unsafeStore = "UNSAFE_STORE"
    /// This build, store or server version does not support the request.
    case unsupported = "UNSUPPORTED"
    /// The candidate or the store is closed.
    case closed = "CLOSED"
    /// The handle was made, or the file opened, before the process forked; the child is never the leader.
    case forked = "FORKED"
    /// Only the leader may do this.
    case notLeader = "NOT_LEADER"
    /// The store answers but cannot serve: it is full, locked or damaged.
    case broken = "BROKEN"
    /// The term ended before the work that ran in it.
    case termEnded = "TERM_ENDED"
    /// The wait ended at its time limit.
    case timedOut = "TIMED_OUT"
    /// A bug in incumbent; please report it.
    case `internal` = "INTERNAL"
    // end of codes

    /// Whether the same call can succeed later without a change by the caller or an operator.
    public var isTemporary: Bool { Self.temporary[rawValue] ?? false }

    private static let temporary = errorCodes()
}

/// Every error of this library.
///
/// Programs act on the case or on ``code``; the message is for people, and contains the remedy.
public enum IncumbentError: Error, Hashable, Sendable {
    // generated: errors
    /// A store's URL cannot be read, or names a parameter that does not exist.
    case invalidURL(Details)
    /// A setting is refused; the message names it, its value, what is accepted and the remedy.
    case invalidSetting(Details)
    /// The store cannot hold this key or candidate name.
    case invalidName(Details)
    /// Credentials cannot be read, or are malformed.
    case authentication(Details)
    /// The store does not answer.
    case storeUnavailable(Details)
    /// The store refuses the credentials, or they lack a permission.
    case permissionDenied(Details)
    /// The bucket, file or topic does not exist; preparing the store creates it.
    case notFound(Details)
    /// An election on a store with these settings would be unsafe.
    case unsafeStore(Details)
    /// This build, store or server version does not support the request.
    case unsupported(Details)
    /// The candidate or the store is closed.
    case closed(Details)
    /// The handle was made, or the file opened, before the process forked; the child is never the leader.
    case forked(Details)
    /// Only the leader may do this.
    case notLeader(Details)
    /// The store answers but cannot serve: it is full, locked or damaged.
    case broken(Details)
    /// The term ended before the work that ran in it.
    case termEnded(Reason, Details)
    /// The wait ended at its time limit.
    case timedOut(Details)
    /// A bug in incumbent; please report it.
    case `internal`(Details)

    private var parts: (ErrorCode, Details) {
        switch self {
        case .invalidURL(let details): (.invalidURL, details)
        case .invalidSetting(let details): (.invalidSetting, details)
        case .invalidName(let details): (.invalidName, details)
        case .authentication(let details): (.authentication, details)
        case .storeUnavailable(let details): (.storeUnavailable, details)
        case .permissionDenied(let details): (.permissionDenied, details)
        case .notFound(let details): (.notFound, details)
        case .unsafeStore(let details): (.unsafeStore, details)
        case .unsupported(let details): (.unsupported, details)
        case .closed(let details): (.closed, details)
        case .forked(let details): (.forked, details)
        case .notLeader(let details): (.notLeader, details)
        case .broken(let details): (.broken, details)
        case .termEnded(_, let details): (.termEnded, details)
        case .timedOut(let details): (.timedOut, details)
        case .internal(let details): (.internal, details)
        }
    }
    // end of errors

    /// The text of an error.
    public struct Details: Hashable, Sendable {
        /// The fault and the remedy.
        public let message: String
        /// The messages of the underlying errors, the nearest first.
        public let causes: [String]
    }

    /// A stable name of the kind.
    public var code: ErrorCode { parts.0 }

    /// The fault and the remedy, for people.
    public var message: String { parts.1.message }

    /// The messages of the underlying errors, the nearest first.
    public var causes: [String] { parts.1.causes }

    /// Whether the same call can succeed later without a change by the caller or an operator.
    public var isTemporary: Bool { code.isTemporary }
}

extension IncumbentError: LocalizedError, CustomStringConvertible {
    public var errorDescription: String? { description }

    public var description: String {
        causes.isEmpty ? message : "\(message): \(causes.joined(separator: ": "))"
    }
}

extension IncumbentError {
    /// Translates a failure of the compiled part.
    init(code: String, message: String, causes: [String], reason: Reason?) {
        let details = Details(message: message, causes: causes)
        // No code without a case: the compiler refuses an incomplete `switch`.
        switch ErrorCode(rawValue: code) ?? .internal {
        case .termEnded: self = .termEnded(reason ?? .expired, details)
        // generated: cases
        case .invalidURL: self = .invalidURL(details)
        case .invalidSetting: self = .invalidSetting(details)
        case .invalidName: self = .invalidName(details)
        case .authentication: self = .authentication(details)
        case .storeUnavailable: self = .storeUnavailable(details)
        case .permissionDenied: self = .permissionDenied(details)
        case .notFound: self = .notFound(details)
        case .unsafeStore: self = .unsafeStore(details)
        case .unsupported: self = .unsupported(details)
        case .closed: self = .closed(details)
        case .forked: self = .forked(details)
        case .notLeader: self = .notLeader(details)
        case .broken: self = .broken(details)
        case .timedOut: self = .timedOut(details)
        case .internal: self = .internal(details)
        // end of cases
        }
    }
}

/// An error of this library, or `CancellationError` if the caller cancelled.
private func translated(_ failure: Failure) -> any Error {
    switch failure {
    case .Failed(let code, let text, let causes, let reason):
        IncumbentError(code: code, message: text, causes: causes, reason: reason.map(Reason.init))
    case .Cancelled:
        CancellationError()
    }
}

/// Has made the compiled part write its messages for Swift, once it is read.
private let speaksSwift: Void = speakSwift()

/// Calls the compiled part, and translates its failure.
package func translating<T>(_ call: () throws -> T) throws -> T {
    _ = speaksSwift
    do {
        return try call()
    } catch let failure as Failure {
        throw translated(failure)
    }
}

/// Waits for the compiled part, and translates its failure.
package func translating<T: Sendable>(_ call: () async throws -> T) async throws -> T {
    do {
        return try await call()
    } catch let failure as Failure {
        throw translated(failure)
    }
}
