import Incumbent

let url = CommandLine.arguments.dropFirst().first ?? "nats://localhost:4222/ELECTIONS"
let store = try await connect(url)
let candidate = try await store.campaign("billing-cron", .init(name: "worker-7"))
try await candidate.lead { term in
    print("leading with token \(term.token)")
    try await term.draining() // until it is time to finish
}
