import Foundation
package import IncumbentRaw

/// The settings of a store: those that every store has, and the parameters of its URL by name. What is nil is left to the
/// library.
///
/// ```swift
/// let store = try await connect("nats://localhost:4222/ELECTIONS", .init(parameters: ["creds": "app.creds"]))
/// ```
public struct StoreSettings: Sendable {
    /// A parameter of a URL.
    public enum Parameter: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
        /// A text: `creds`, `tls_ca`, `domain`, … A length of time is text such as `10s`.
        case text(String)
        /// True or false: `create`, `tls_first`, `markers`.
        case flag(Bool)

        public init(stringLiteral value: String) { self = .text(value) }

        public init(booleanLiteral value: Bool) { self = .flag(value) }

        var raw: Setting {
            switch self {
            case .text(let value): .text(value: value)
            case .flag(let value): .flag(value: value)
            }
        }
    }

    /// Whether a store that does not answer is an error; by default it is waited for.
    public var failFast: Bool?
    /// The lease that candidates are going to have, so that an unfit store is refused when it is opened.
    public var expectedLease: Duration?
    /// The parameters of the URL.
    public var parameters: [String: Parameter]

    /// Collects settings; each is a property of the same name.
    public init(failFast: Bool? = nil, expectedLease: Duration? = nil, parameters: [String: Parameter] = [:]) {
        self.failFast = failFast
        self.expectedLease = expectedLease
        self.parameters = parameters
    }

    package func plain() throws -> [String: Setting] {
        var plain = parameters.mapValues(\.raw)
        plain["fail_fast"] = failFast.map { .flag(value: $0) } ?? plain["fail_fast"]
        plain["expected_lease"] = try time("expectedLease", expectedLease) ?? plain["expected_lease"]
        return plain
    }
}

/// Rules that fit together.
public enum Preset: String, CaseIterable, Hashable, Sendable {
    /// Leases of 5 s and more.
    case standard = "standard"
    /// Leases of 1 s and more.
    case fast = "fast"
    /// The rules of the Go library.
    case goCompatible = "go_compatible"
}

/// The wait of a new leader where a former one may still believe that it leads.
public enum WinDelay: Hashable, Sendable {
    /// As long as the record of the former leader requires.
    case automatic
    /// Also where nothing is known about a former leader.
    case cautious
    /// At least so long.
    case fixed(Duration)
}

/// The settings of a candidate. What is nil is left to the library.
///
/// ```swift
/// let candidate = try await store.campaign("billing-cron", .init(name: "worker-7", lease: .seconds(10)))
/// ```
public struct CampaignSettings: Sendable {
    /// The name that other candidates observe; host and process by default.
    public var name: String?
    /// Rules that fit together.
    public var preset: Preset?
    /// The time for which no other candidate leads after a leader crashed; the store's by default.
    public var lease: Duration?
    /// The time that a leader has to finish its work when it leaves of its own accord; 10 s by default.
    public var drain: Duration?
    /// The longest wait before the first campaign.
    public var splay: Duration?
    /// The wait of a new leader where a former one may still believe that it leads.
    public var winDelay: WinDelay?
    /// The largest disagreement between the clocks of the store's servers; a twentieth of the lease by default, at most 1 s.
    public var skew: Duration?
    /// The largest gain or loss of each clock, in parts per million; 5,000 (0.5 %) by default.
    public var driftPpm: Int?
    /// The time between reading the clock and acting on it; a twentieth of the lease by default, at most 250 ms.
    public var slack: Duration?
    /// The interval at which a candidate polls without an event from the watch.
    public var interval: Duration?
    /// The waits after failures in a row; the last one counts for all further ones.
    public var backoff: [Duration]?
    /// Texts that the leader publishes about itself.
    public var metadata: [String: String]?
    /// Asked at each ``healthInterval`` whether the program is healthy; an error is a no. A candidate that is not leaves, and
    /// waits.
    public var health: (@Sendable () async throws -> Bool)?
    /// The interval of ``health``.
    public var healthInterval: Duration
    /// Whether threads of Swift's concurrency that hang make the candidate unhealthy.
    public var watch: Bool
    /// The time that Swift's concurrency may run nothing while the candidate leads: the lease by default, or at least 100 ms.
    /// If it hangs for this time, or up to a quarter more, the candidate is unhealthy until it runs again.
    public var watchLimit: Duration?

    /// Collects settings; each is a property of the same name.
    public init(
        name: String? = nil,
        preset: Preset? = nil,
        lease: Duration? = nil,
        drain: Duration? = nil,
        splay: Duration? = nil,
        winDelay: WinDelay? = nil,
        skew: Duration? = nil,
        driftPpm: Int? = nil,
        slack: Duration? = nil,
        interval: Duration? = nil,
        backoff: [Duration]? = nil,
        metadata: [String: String]? = nil,
        health: (@Sendable () async throws -> Bool)? = nil,
        healthInterval: Duration = .seconds(5),
        watch: Bool = true,
        watchLimit: Duration? = nil
    ) {
        self.name = name
        self.preset = preset
        self.lease = lease
        self.drain = drain
        self.splay = splay
        self.winDelay = winDelay
        self.skew = skew
        self.driftPpm = driftPpm
        self.slack = slack
        self.interval = interval
        self.backoff = backoff
        self.metadata = metadata
        self.health = health
        self.healthInterval = healthInterval
        self.watch = watch
        self.watchLimit = watchLimit
    }

    func plain() throws -> [String: Setting] {
        var plain: [String: Setting] = [:]
        plain["name"] = name.map { .text(value: $0) }
        plain["preset"] = preset.map { .text(value: $0.rawValue) }
        plain["lease"] = try time("lease", lease)
        plain["drain"] = try time("drain", drain)
        plain["splay"] = try time("splay", splay)
        plain["skew"] = try time("skew", skew)
        plain["slack"] = try time("slack", slack)
        plain["interval"] = try time("interval", interval)
        plain["win_delay"] =
            switch winDelay {
            case nil: nil
            case .automatic: .text(value: "automatic")
            case .cautious: .text(value: "cautious")
            case .fixed(let wait): try time("winDelay", wait)
            }
        plain["drift_ppm"] = driftPpm.map { .number(value: Double($0)) }
        plain["backoff"] = try backoff.map { waits in .times(values: try waits.map { try positive("backoff", $0) }) }
        plain["metadata"] = metadata.map { .texts(values: $0) }
        plain["watch_loop"] = watch ? try time("watchLimit", watchLimit) : .flag(value: false)
        return plain
    }
}

func time(_ name: String, _ length: Duration?) throws -> Setting? {
    try length.map { .time(value: try positive(name, $0)) }
}

/// Refuses a length of time that the compiled part has no representation for.
package func positive(_ name: String, _ length: Duration) throws -> TimeInterval {
    guard length >= .zero else {
        let message = "\(name) is \(length), and must be a length of time that is not negative"
        throw IncumbentError.invalidSetting(.init(message: message, causes: []))
    }
    return length.interval
}

extension Duration {
    package init(interval: TimeInterval) {
        self = .nanoseconds(Int64((interval * 1e9).rounded()))
    }

    /// This length in seconds, with half a nanosecond more: the compiled part cuts after nanoseconds.
    var interval: TimeInterval {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18 + (self == .zero ? 0 : 0.5e-9)
    }
}

/// Returns the text with the names of settings as this library has them.
func renamed(_ text: String) -> String {
    let names = [
        "fail_fast": "failFast", "expected_lease": "expectedLease", "own_leases": "ownLeases", "drift_ppm": "driftPpm",
        "win_delay": "winDelay", "watch_loop": "watchLimit", "health_interval": "healthInterval",
    ]
    return names.reduce(text) { text, name in text.replacingOccurrences(of: name.key, with: name.value) }
}
