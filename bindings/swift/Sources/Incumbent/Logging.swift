import Foundation
internal import IncumbentRaw

/// The level of a log record.
public enum LogLevel: String, CaseIterable, Hashable, Sendable {
    /// A message to or from the store.
    case trace
    /// A decision of the election.
    case debug
    /// A term begins or ends.
    case info
    /// A promise is at risk.
    case warning
    /// A person must act.
    case error

    fileprivate var raw: IncumbentRaw.LogLevel {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }

    fileprivate init(_ raw: IncumbentRaw.LogLevel) {
        self = switch raw {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}

/// A log record.
public struct LogRecord: Hashable, Sendable {
    /// The level.
    public let level: LogLevel
    /// The module that logs it.
    public let target: String
    /// The text.
    public let message: String
    /// The fields of the record: `election`, `candidate`, `term`.
    public let fields: [String: String]

    fileprivate init(_ raw: IncumbentRaw.LogRecord) {
        (level, target, message, fields) = (LogLevel(raw.level), raw.target, raw.text, raw.fields)
    }
}

private let sink = Locked<(@Sendable (LogRecord) -> Void)?>(nil)

/// Hands the log records of at least that level to `take`, on a separate thread; nil turns logging off.
///
/// `info` covers the beginning and end of terms, and problems for a person to look at; `debug` adds decisions, `trace`
/// messages to and from the store. Nothing is logged before the first call.
///
/// - Parameters:
///   - level: The lowest level.
///   - take: Takes a record; by default it is written to standard error.
public func logTo(_ level: LogLevel?, _ take: @escaping @Sendable (LogRecord) -> Void = writeRecord) throws {
    sink.withLock { $0 = level == nil ? nil : take }
    guard try translating({ try keepLogs(least: level?.raw) }) else { return }
    let thread = Thread {
        while true {
            let records = takeLogs()
            if records.isEmpty { return }
            let take = sink.withLock { $0 }
            records.forEach { take?(LogRecord($0)) }
        }
    }
    thread.name = "incumbent-log"
    thread.start()
}

/// Writes a record to standard error, on one line.
@Sendable
public func writeRecord(_ record: LogRecord) {
    let fields = record.fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    FileHandle.standardError.write(Data("\(record.level.rawValue) \(record.message)\(fields)\n".utf8))
}
