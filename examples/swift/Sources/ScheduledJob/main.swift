// A service of several instances; one of them sends the invoices every second: scheduled-job URL [--once]
//
// Each instance serves its requests at all times. SIGTERM lets the job finish, gives leadership to another instance,
// and ends the service.

import Foundation
import Incumbent

let url = CommandLine.arguments.dropFirst().first ?? "nats://localhost:4222/ELECTIONS"
let once = CommandLine.arguments.contains("--once")

/// A placeholder for the requests that every instance serves.
func serve() async throws {
    while !Task.isCancelled {
        try await Task.sleep(for: .seconds(1))
    }
}

/// The leader's work: a drain never cuts a job short, and no job begins during a drain.
func sendInvoices(_ term: Term) async throws {
    while term.isCurrent && !term.isDraining {
        // The database refuses a token smaller than the largest it has seen.
        FileHandle.standardOutput.write(Data("the invoices go out with token \(term.token)\n".utf8))
        if once { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Task.sleep(for: .seconds(1)) }
            group.addTask { try await term.draining() }
            try await group.next()
            group.cancelAll()
        }
    }
}

let serving = Task { try await serve() }
try await run(url, "invoices", CampaignSettings(splay: .zero), cancelOnStop: false, work: sendInvoices)
serving.cancel()
