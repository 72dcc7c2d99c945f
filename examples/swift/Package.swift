// swift-tools-version: 6.0
import PackageDescription

// The folder that `cargo xtask package swift` builds.
let incumbent = Context.environment["INCUMBENT_PACKAGE"] ?? "../../target/swift/release/Incumbent"

let package = Package(
    name: "ScheduledJob",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Incumbent", path: incumbent)],
    targets: [
        .executableTarget(
            name: "scheduled-job",
            dependencies: [.product(name: "Incumbent", package: "Incumbent")],
            path: "Sources/ScheduledJob"
        ),
    ],
    swiftLanguageModes: [.v6]
)
