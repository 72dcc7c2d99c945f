/** The settings of stores and candidates. */
package incumbent

import incumbent.raw.Setting
import java.util.concurrent.Executor
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlin.time.toKotlinDuration
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import java.time.Duration as JavaDuration

/**
 * The settings of a store: the settings that every store has, and the parameters of its URL by name. The library
 * chooses settings that are null.
 *
 * ```kotlin
 * connect("nats://localhost:4222/ELECTIONS") { parameter("creds", "app.creds") }
 * ```
 */
public class StoreSettings {
    // generated: store
    /** Whether a store that does not answer is an error; by default candidates wait for it. */
    public var failFast: Boolean? = null

    /**
     * The shortest lease that candidates will have, from which a connection to NATS derives the interval of its pings
     * and the time that it gives a server to answer; by default 30 s.
     */
    public var expectedLease: Duration? = null

    private fun generated(): Map<String, Setting> = buildMap {
        failFast?.let { put("fail_fast", Setting.Flag(it)) }
        expectedLease?.let { put("expected_lease", time("expectedLease", it)) }
    }
    // end of store

    private val parameters = mutableMapOf<String, Setting>()

    /** Sets a parameter of the URL: `creds`, `tls_ca`, `domain`, … A length of time is text such as `10s`. */
    public fun parameter(name: String, value: String): StoreSettings = apply { parameters[name] = Setting.Text(value) }

    /** Sets a boolean parameter of the URL: `create`, `tls_first`, `markers`. */
    public fun parameter(name: String, value: Boolean): StoreSettings = apply { parameters[name] = Setting.Flag(value) }

    // generated: store for Java
    /** [failFast], for Java. */
    public fun failFast(value: Boolean): StoreSettings = apply { failFast = value }

    /** [expectedLease], for Java. */
    public fun expectedLease(value: JavaDuration): StoreSettings = apply { expectedLease = value.toKotlinDuration() }
    // end of store for Java

    internal fun plain(): Map<String, Setting> = parameters + generated()
}

/**
 * The settings for preparing a store: those below, and the parameters of its URL by name. The library chooses settings
 * that are null, and leaves them unchanged in an existing store.
 *
 * ```kotlin
 * init("nats://localhost:4222/ELECTIONS") { lease = 10.seconds; replicas = 3 }
 * ```
 */
public class InitSettings {
    // generated: init
    /**
     * States that no election ever ran there. Otherwise no candidate leads until the store is one lease old, because it
     * may replace another in which a candidate still leads. Only by hand, or in a test: if a program recreates a store
     * under a leader, there can be two leaders. Refused for a store that has been written to.
     */
    public var new: Boolean? = null

    /**
     * NATS: the lease of the bucket's elections, which is its TTL; by default 30 s for a new bucket; an existing one
     * keeps its own.
     */
    public var lease: Duration? = null

    /**
     * NATS: the number of servers that keep the bucket: 1, 3 or 5; by default 1 for a new bucket; an existing one keeps
     * its own.
     */
    public var replicas: Int? = null

    /**
     * NATS: the bucket's size limit in bytes, if the account requires one; at least 65536; by default none for a new
     * bucket; an existing one keeps its own.
     */
    public var maxBytes: Int? = null

    /**
     * NATS: whether watches report expiry, for a fail-over without a poll (2.11 or newer). Not for a bucket that
     * candidates of the Go library share.
     */
    public var markers: Boolean? = null

    /** NATS: whether each election can have its own lease, in whole seconds and below the bucket's (2.11 or newer). */
    public var ownLeases: Boolean? = null

    /**
     * NATS: whether to change an existing bucket that differs; by default the differences are reported, outside Rust as
     * the error UNSAFE_STORE, and nothing is changed.
     */
    public var update: Boolean? = null

    /** Kafka: the election whose topic is created. */
    public var election: String? = null

    private fun generated(): Map<String, Setting> = buildMap {
        new?.let { put("new", Setting.Flag(it)) }
        lease?.let { put("lease", time("lease", it)) }
        replicas?.let { put("replicas", Setting.Number(it.toDouble())) }
        maxBytes?.let { put("max_bytes", Setting.Number(it.toDouble())) }
        markers?.let { put("markers", Setting.Flag(it)) }
        ownLeases?.let { put("own_leases", Setting.Flag(it)) }
        update?.let { put("update", Setting.Flag(it)) }
        election?.let { put("election", Setting.Text(it)) }
    }
    // end of init

    private val parameters = mutableMapOf<String, Setting>()

    /** Sets a parameter of the URL: `creds`, `tls_ca`, `domain`, … A length of time is text such as `10s`. */
    public fun parameter(name: String, value: String): InitSettings = apply { parameters[name] = Setting.Text(value) }

    /** Sets a boolean parameter of the URL, such as `tls_first`. */
    public fun parameter(name: String, value: Boolean): InitSettings = apply { parameters[name] = Setting.Flag(value) }

    // generated: init for Java
    /** [new], for Java. */
    public fun isNew(value: Boolean): InitSettings = apply { new = value }

    /** [lease], for Java. */
    public fun lease(value: JavaDuration): InitSettings = apply { lease = value.toKotlinDuration() }

    /** [replicas], for Java. */
    public fun replicas(value: Int): InitSettings = apply { replicas = value }

    /** [maxBytes], for Java. */
    public fun maxBytes(value: Int): InitSettings = apply { maxBytes = value }

    /** [markers], for Java. */
    public fun markers(value: Boolean): InitSettings = apply { markers = value }

    /** [ownLeases], for Java. */
    public fun ownLeases(value: Boolean): InitSettings = apply { ownLeases = value }

    /** [update], for Java. */
    public fun update(value: Boolean): InitSettings = apply { update = value }

    /** [election], for Java. */
    public fun election(value: String): InitSettings = apply { election = value }
    // end of init for Java

    internal fun plain(): Map<String, Setting> = parameters + generated()
}

/** Bounds and defaults of the timing settings that fit together. */
public enum class Preset {
    /** Leases of 5 s and more. */
    STANDARD,

    /** Leases of 1 s and more. */
    FAST,

    /** The rules of the Go library. */
    GO_COMPATIBLE,
}

/** The wait of a new leader while a former leader may still believe that it leads. */
public sealed interface WinDelay {
    /** As long as the record of the former leader requires. */
    public object Automatic : WinDelay

    /** Also if nothing is known about a former leader. */
    public object Cautious : WinDelay

    /** At least this long. */
    public class Fixed(public val wait: Duration) : WinDelay
}

/** A function that reports whether its program is healthy. */
public fun interface HealthCheck {
    /** Whether the program is healthy. An error counts as unhealthy. */
    public suspend fun isHealthy(): Boolean
}

/**
 * The settings of a candidate. The library chooses settings that are null.
 *
 * ```kotlin
 * store.campaign("billing-cron") { name = "worker-7"; lease = 10.seconds }
 * ```
 */
public class CampaignSettings {
    // generated: candidate
    /**
     * The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces; by default
     * HOST-PID, from the host and the process. Each candidate of an election has a different one.
     */
    public var name: String? = null

    /** The bounds and defaults of all timing settings; by default the standard one, with leases of 5 s and more. */
    public var preset: Preset? = null

    /**
     * The lease duration: the time for which no other candidate leads after a leader crashes; by default the store's
     * maximum age if all its records share it, else the preset's lease, never longer than the store's maximum age.
     */
    public var lease: Duration? = null

    /**
     * The largest disagreement between the clocks of the store's servers; by default a twentieth of the lease, at most
     * 1 s; none on etcd and Kafka. It is a part of the margin, because another server may expire the record.
     */
    public var skew: Duration? = null

    /**
     * The largest gain or loss of each clock, in parts per million; by default 5,000, which is 0.5 %. The margin counts
     * it twice: for the leader's clock, and for that of the store or of a waiting candidate.
     */
    public var driftPpm: Int? = null

    /**
     * The time between reading the clock and acting on it; by default a twentieth of the lease, at most 250 ms. It is a
     * part of the margin.
     */
    public var slack: Duration? = null

    /**
     * The time that a new holder waits before it leads; by default automatic, which is as long as a previous leader may
     * still believe that it leads. With cautious it also waits a lease if no previous leader is known; a time is a
     * minimum.
     */
    public var winDelay: WinDelay? = null

    /**
     * The longest random wait before the first campaign, so that a fleet that starts together does not campaign
     * together; by default a tenth of the lease, at most 1 s. Zero for no wait.
     */
    public var splay: Duration? = null

    /** The time that a leader has to finish its work when it leaves on its own; by default 10 s. */
    public var drain: Duration? = null

    /**
     * The interval between a candidate's reads of the key while the watch is silent; by default it reads when the last
     * record that it saw should have expired.
     */
    public var interval: Duration? = null

    /**
     * The wait of a candidate after a failure; by default 100 ms, doubled up to 1 s, 20 % more or less. It does not
     * apply to a leader, which repeats a failed renewal as fast as its deadline demands.
     */
    public var backoff: List<Duration>? = null

    /**
     * What the leader publishes about itself: keys of alphanumeric ASCII characters and '-', and texts of one line,
     * 4,096 bytes in all; by default nothing.
     */
    public var metadata: Map<String, String>? = null

    private fun generated(): Map<String, Setting> = buildMap {
        name?.let { put("name", Setting.Text(it)) }
        preset?.let { put("preset", Setting.Text(it.name.lowercase())) }
        lease?.let { put("lease", time("lease", it)) }
        skew?.let { put("skew", time("skew", it)) }
        driftPpm?.let { put("drift_ppm", Setting.Number(it.toDouble())) }
        slack?.let { put("slack", time("slack", it)) }
        winDelay?.let { put("win_delay", setting(it)) }
        splay?.let { put("splay", time("splay", it)) }
        drain?.let { put("drain", time("drain", it)) }
        interval?.let { put("interval", time("interval", it)) }
        backoff?.let { waits -> put("backoff", Setting.Times(waits.map { positive("backoff", it) })) }
        metadata?.let { put("metadata", Setting.Texts(it)) }
    }
    // end of candidate

    /** Asked at each [healthInterval] whether the program is healthy. An unhealthy candidate leaves, and waits. */
    public var health: HealthCheck? = null

    /** The interval of [health]. */
    public var healthInterval: Duration = 5.seconds

    /** The dispatcher that is watched, and that runs [health]; by default the caller's of `campaign`. */
    public var dispatcher: CoroutineDispatcher? = null

    /** Whether a hanging dispatcher makes the candidate unhealthy. */
    public var watch: Boolean = true

    /**
     * The time that the dispatcher may hang while the candidate leads: the lease by default, or at least 100 ms. A
     * dispatcher that runs nothing for this time, or up to a quarter more, makes the candidate unhealthy until it runs
     * again.
     */
    public var watchLimit: Duration? = null

    // generated: candidate for Java
    /** [name], for Java. */
    public fun name(value: String): CampaignSettings = apply { name = value }

    /** [preset], for Java. */
    public fun preset(value: Preset): CampaignSettings = apply { preset = value }

    /** [lease], for Java. */
    public fun lease(value: JavaDuration): CampaignSettings = apply { lease = value.toKotlinDuration() }

    /** [skew], for Java. */
    public fun skew(value: JavaDuration): CampaignSettings = apply { skew = value.toKotlinDuration() }

    /** [driftPpm], for Java. */
    public fun driftPpm(value: Int): CampaignSettings = apply { driftPpm = value }

    /** [slack], for Java. */
    public fun slack(value: JavaDuration): CampaignSettings = apply { slack = value.toKotlinDuration() }

    /** [winDelay], for Java. */
    public fun winDelay(value: WinDelay): CampaignSettings = apply { winDelay = value }

    /** [winDelay] of at least this long, for Java. */
    public fun winDelay(value: JavaDuration): CampaignSettings = winDelay(WinDelay.Fixed(value.toKotlinDuration()))

    /** [splay], for Java. */
    public fun splay(value: JavaDuration): CampaignSettings = apply { splay = value.toKotlinDuration() }

    /** [drain], for Java. */
    public fun drain(value: JavaDuration): CampaignSettings = apply { drain = value.toKotlinDuration() }

    /** [interval], for Java. */
    public fun interval(value: JavaDuration): CampaignSettings = apply { interval = value.toKotlinDuration() }

    /** [backoff], for Java. */
    public fun backoff(vararg value: JavaDuration): CampaignSettings = apply { backoff = value.map { it.toKotlinDuration() } }

    /** [metadata], for Java. */
    public fun metadata(value: Map<String, String>): CampaignSettings = apply { metadata = value }
    // end of candidate for Java

    /** [health], asked at each interval on a thread of the [executor], for Java. */
    public fun health(interval: JavaDuration, check: java.util.function.BooleanSupplier): CampaignSettings = apply {
        healthInterval = interval.toKotlinDuration()
        health = HealthCheck { check.asBoolean }
    }

    /** The executor to watch, for Java; without one nothing is watched. */
    public fun executor(value: Executor): CampaignSettings = apply { dispatcher = value.asCoroutineDispatcher() }

    /** [watchLimit], for Java. */
    public fun watchLimit(value: JavaDuration): CampaignSettings = apply { watchLimit = value.toKotlinDuration() }

    internal fun plain(): Map<String, Setting> = buildMap {
        putAll(generated())
        watchLimit?.let { put("watch_loop", time("watchLimit", it)) }
        if (!watch) {
            put("watch_loop", Setting.Flag(false))
        }
    }
}

private fun setting(delay: WinDelay): Setting = when (delay) {
    WinDelay.Automatic -> Setting.Text("automatic")
    WinDelay.Cautious -> Setting.Text("cautious")
    is WinDelay.Fixed -> time("winDelay", delay.wait)
}

private fun time(name: String, length: Duration): Setting = Setting.Time(positive(name, length))

/** Refuses values that the compiled part cannot represent. */
internal fun positive(name: String, length: Duration): JavaDuration {
    if (length.isNegative() || length.isInfinite()) {
        throw InvalidSettingException(noLength(name, "$length"), null)
    }
    return length.toJavaDuration()
}
