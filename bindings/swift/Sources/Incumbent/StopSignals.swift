import Foundation

/// The signals that ask runs to stop, and their handlers while any run lasts.
enum StopSignals {
    /// The time within which a repeated signal is the same request: GNU's `timeout` sends two. Any other ends the
    /// process.
    private static let sameRequest = Duration.seconds(1)

    private struct State {
        var next = 0
        var asks: [Int: (signals: Set<Int32>, ask: @Sendable () -> Void)] = [:]
        /// The handlers of the program, by signal.
        var before: [Int32: sigaction] = [:]
        var first: (signal: Int32, at: ContinuousClock.Instant)?
    }

    private static let state = Locked(State())

    /// Calls `ask` at each of the signals, until ``end(_:)``.
    static func begin(_ signals: Set<Int32>, _ ask: @escaping @Sendable () -> Void) -> Int {
        _ = reader
        return state.withLock { state in
            state.next += 1
            state.asks[state.next] = (signals, ask)
            for signal in signals where state.before[signal] == nil {
                var action = sigaction()
                var before = sigaction()
                #if canImport(Darwin)
                action.__sigaction_u.__sa_handler = noteSignal
                #else
                action.__sigaction_handler.sa_handler = noteSignal
                #endif
                // The program's system calls continue after the handler.
                action.sa_flags = Int32(SA_RESTART)
                sigaction(signal, &action, &before)
                state.before[signal] = before
            }
            return state.next
        }
    }

    /// Ends that watch, and restores the handlers of signals that no other watch wants.
    static func end(_ watch: Int) {
        state.withLock { state in
            let signals = state.asks.removeValue(forKey: watch)?.signals ?? []
            for signal in signals where !state.asks.values.contains(where: { $0.signals.contains(signal) }) {
                if var before = state.before.removeValue(forKey: signal) {
                    sigaction(signal, &before, nil)
                }
            }
            if state.asks.isEmpty {
                state.first = nil
            }
        }
    }

    /// The thread that acts on signals: a handler may call next to nothing. No child inherits the pipe.
    private static let reader: Void = {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
        let read = ends[0]
        signalPipe = ends[1]
        let thread = Thread {
            var number: UInt8 = 0
            while true {
                let count = Foundation.read(read, &number, 1)
                if count == 1 {
                    received(Int32(number))
                } else if count == 0 || errno != EINTR {
                    return
                }
            }
        }
        thread.name = "incumbent-signals"
        thread.start()
    }()

    private static func received(_ signal: Int32) {
        let now = ContinuousClock.now
        let asks: [@Sendable () -> Void] = state.withLock { state in
            if let first = state.first {
                if first.signal != signal || now - first.at >= sameRequest {
                    Foundation.signal(signal, SIG_DFL)
                    kill(getpid(), signal)
                }
                return []
            }
            state.first = (signal, now)
            return state.asks.values.filter { $0.signals.contains(signal) }.map(\.ask)
        }
        asks.forEach { $0() }
    }
}

/// The end of the pipe that the handler writes to: a plain variable, since a handler must not run an initialiser.
nonisolated(unsafe) private var signalPipe: Int32 = -1

private func noteSignal(_ signal: Int32) {
    let before = errno
    var number = UInt8(truncatingIfNeeded: signal)
    _ = write(signalPipe, &number, 1)
    errno = before
}
